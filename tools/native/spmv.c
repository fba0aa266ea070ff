/* Sparse matrix times vector; the first rows of the matrix have the most entries. */
#include "program.h"

enum { ROWS = 2000, COLUMNS = 1 << 17, VECTORS = 10 };

static int first[ROWS + 1], *column;
static double *value, *x;

static void prepare(void) {
    for (int i = 0; i < ROWS; i++)
        first[i + 1] = first[i] + (int)(300000 / pow(i + 20, 0.9)) + 100;
    column = malloc(sizeof *column * first[ROWS]);
    value = malloc(sizeof *value * first[ROWS]);
    x = malloc(sizeof *x * COLUMNS);
    for (int k = 0; k < first[ROWS]; k++) {
        column[k] = (int)(COLUMNS * drawn(k));
        value[k] = drawn(k + 7);
    }
    for (int k = 0; k < COLUMNS; k++)
        x[k] = drawn(k + 11);
}

static double iteration(int i) {
    double sum = 0;
    for (int vector = 0; vector < VECTORS; vector++)
        for (int k = first[i]; k < first[i + 1]; k++)
            sum += value[k] * x[(column[k] + vector) % COLUMNS];
    return sum;
}

int main(int words, char **word) { return run(ROWS, words > 1 ? word[1] : "for"); }
