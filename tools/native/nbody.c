/* Forces on particles from those within a distance; most particles are in a few clusters. */
#include "program.h"

enum { N = 5000, CLUSTERS = 5 };

static double at[N][2];

static void prepare(void) {
    for (int i = 0; i < N; i++) {
        int cluster = i * CLUSTERS / N; /* each is wider than the one before */
        for (int k = 0; k < 2; k++)
            at[i][k] = drawn(cluster * 2 + k) + 0.05 * (1 << cluster) * (drawn(4 * i + k) - 0.5);
    }
}

static double iteration(int i) {
    double force = 0;
    for (int j = 0; j < N; j++) {
        double dx = at[j][0] - at[i][0], dy = at[j][1] - at[i][1], square = dx * dx + dy * dy;
        if (j != i && square < 0.01)
            force += dx * exp(-square) / (square * sqrt(square) + 1e-9);
    }
    return force;
}

int main(int words, char **word) { return run(N, words > 1 ? word[1] : "for"); }
