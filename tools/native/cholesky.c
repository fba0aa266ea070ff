/* Cholesky's factorisation of a matrix of TILES x TILES tiles, a task for each step on a tile. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TILES = 10, SIZE = 80, INSTANCES = 6 };

typedef double Tile[SIZE][SIZE];

static Tile a[TILES][TILES], given[TILES][TILES];

static void factor(Tile t) {
    for (int k = 0; k < SIZE; k++) {
        t[k][k] = sqrt(t[k][k]);
        for (int i = k + 1; i < SIZE; i++)
            t[i][k] /= t[k][k];
        for (int j = k + 1; j < SIZE; j++)
            for (int i = j; i < SIZE; i++)
                t[i][j] -= t[i][k] * t[j][k];
    }
}

static void solve(Tile l, Tile t) {
    for (int i = 0; i < SIZE; i++)
        for (int k = 0; k < SIZE; k++) {
            double sum = t[i][k];
            for (int j = 0; j < k; j++)
                sum -= t[i][j] * l[k][j];
            t[i][k] = sum / l[k][k];
        }
}

static void subtract(Tile x, Tile y, Tile t) {
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) {
            double sum = 0;
            for (int k = 0; k < SIZE; k++)
                sum += x[i][k] * y[j][k];
            t[i][j] -= sum;
        }
}

static void factorise(void) {
#pragma omp parallel
#pragma omp single
    for (int k = 0; k < TILES; k++) {
#pragma omp task depend(inout : a[k][k])
        factor(a[k][k]);
        for (int i = k + 1; i < TILES; i++)
#pragma omp task depend(in : a[k][k]) depend(inout : a[i][k])
            solve(a[k][k], a[i][k]);
        for (int i = k + 1; i < TILES; i++)
            for (int j = k + 1; j <= i; j++)
#pragma omp task depend(in : a[i][k], a[j][k]) depend(inout : a[i][j])
                subtract(a[i][k], a[j][k], a[i][j]);
    }
}

int main(void) {
    for (int i = 0; i < TILES * SIZE; i++)
        for (int j = 0; j < TILES * SIZE; j++)
            given[i / SIZE][j / SIZE][i % SIZE][j % SIZE] = i == j ? TILES * SIZE : 1.0 / (1 + abs(i - j));
    for (int k = 0; k < INSTANCES; k++) {
        memcpy(a, given, sizeof a);
        factorise();
    }
    return a[TILES - 1][TILES - 1][SIZE - 1][SIZE - 1] > 0 ? 0 : 1;
}
