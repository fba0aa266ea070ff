/* A triangular loop: iteration i has i steps of an inner loop. */
#include "program.h"

enum { N = 1000, EACH = 50 };

static void prepare(void) {}

static double iteration(int i) {
    double x = 0.5;
    for (int k = 0; k < EACH * i; k++)
        x = 3.7 * x * (1 - x);
    return x;
}

int main(int words, char **word) { return run(N, words > 1 ? word[1] : "for"); }
