/* Iterations of random work, exponentially distributed. */
#include "program.h"

enum { N = 1000, MEAN = 24000 };

static void prepare(void) {}

static double iteration(int i) {
    double x = 0.5;
    int steps = (int)(-MEAN * log(1 - drawn(i)));
    for (int k = 0; k < steps; k++)
        x = 3.7 * x * (1 - x);
    return x;
}

int main(int words, char **word) { return run(N, words > 1 ? word[1] : "for"); }
