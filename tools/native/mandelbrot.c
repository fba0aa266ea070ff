/* Rows of a Mandelbrot picture: the ones in the middle take longest. */
#include "program.h"

enum { ROWS = 800, COLUMNS = 200, MOST = 300 };

static void prepare(void) {}

static double iteration(int row) {
    double b = -1.25 + 2.5 * (row + 0.5) / ROWS, sum = 0;
    for (int column = 0; column < COLUMNS; column++) {
        double a = -2.0 + 2.5 * (column + 0.5) / COLUMNS, x = 0, y = 0;
        int k = 0;
        for (; k < MOST && x * x + y * y <= 4; k++) {
            double next = x * x - y * y + a;
            y = 2 * x * y + b;
            x = next;
        }
        sum += k;
    }
    return sum;
}

int main(int words, char **word) { return run(ROWS, words > 1 ? word[1] : "for"); }
