/* The floor: lazy ensemble sampling on the sphere problem, in C with -O3 -march=native -ffast-math and nothing else to do.
 *
 *   floor DIM ARMS SIZE HORIZON NOISE SCALE REPEATS SEED
 *
 * lam = 1, Gaussian laws, a uniform member each round; only the drawn member's sum is brought up to date. Each repeat draws a
 * problem of its own. Prints {"seconds_per_round": median, "regret": mean, "standard_error": of the mean}. */

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* xoshiro256++ of Blackman and Vigna, seeded by splitmix64. */
static uint64_t state[4];

static inline uint64_t rotate(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

static inline uint64_t next(void) {
    uint64_t result = rotate(state[0] + state[3], 23) + state[0], t = state[1] << 17;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= t;
    state[3] = rotate(state[3], 45);
    return result;
}

static void seed(uint64_t x) {
    for (int i = 0; i < 4; i++) {
        uint64_t z = (x += 0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        state[i] = z ^ (z >> 31);
    }
}

static inline double uniform(void) { return (double)(next() >> 11) * 0x1p-53; }

/* A standard normal by the ziggurat of Marsaglia and Tsang with 256 layers of equal area. */
enum { LAYERS = 256 };
static const double TAIL = 3.6541528853610088, AREA = 0.00492867323399;
static double edge[LAYERS + 1], height[LAYERS + 1], step[LAYERS];
static uint64_t inside[LAYERS];

static void build_layers(void) {
    edge[0] = AREA / exp(-0.5 * TAIL * TAIL);
    edge[1] = TAIL;
    for (int i = 2; i < LAYERS; i++)
        edge[i] = sqrt(-2.0 * log(AREA / edge[i - 1] + exp(-0.5 * edge[i - 1] * edge[i - 1])));
    edge[LAYERS] = 0.0;
    for (int i = 0; i <= LAYERS; i++) height[i] = exp(-0.5 * edge[i] * edge[i]);
    for (int i = 0; i < LAYERS; i++) {
        step[i] = edge[i] * 0x1p-52;
        inside[i] = (uint64_t)(edge[i + 1] / edge[i] * 0x1p52);
    }
}

static __attribute__((noinline)) double outside(int layer, double x) {
    if (layer == 0) {
        double a, b;
        do {
            a = -log1p(-uniform()) / TAIL;
            b = -log1p(-uniform());
        } while (b + b < a * a);
        return x < 0 ? -TAIL - a : TAIL + a;
    }
    double y = height[layer] + uniform() * (height[layer + 1] - height[layer]);
    return y < exp(-0.5 * x * x) ? x : NAN;
}

static inline double normal(void) {
    for (;;) {
        uint64_t r = next();
        int layer = r & 0xff;
        uint64_t magnitude = r >> 12;
        double x = (double)(int64_t)magnitude * step[layer];
        union { double d; uint64_t u; } signed_x = {.d = x};
        signed_x.u |= (r & 0x100) << 55;
        if (__builtin_expect(magnitude < inside[layer], 1)) return signed_x.d;
        double slow = outside(layer, signed_x.d);
        union { double d; uint64_t u; } bits = {.d = slow}; /* isnan is gone under -ffast-math */
        if ((bits.u & 0x7ff0000000000000) != 0x7ff0000000000000) return slow;
    }
}

static void unit_row(double *row, int d) {
    double squares = 0;
    for (int i = 0; i < d; i++) row[i] = normal(), squares += row[i] * row[i];
    for (int i = 0; i < d; i++) row[i] /= sqrt(squares);
}

static void *zeros(size_t count, size_t size) {
    void *memory = NULL;
    size_t bytes = (count * size + 63) / 64 * 64;
    if (posix_memalign(&memory, 64, bytes ? bytes : 64)) exit(1);
    return memset(memory, 0, bytes);
}

/* One run. Loops over coordinates have the length D, which `run` below makes a constant where it can. */
static inline __attribute__((always_inline)) double rounds(
    const int d, const int K, long m, long T, double noise, double scale, const double *X, const double *columns,
    const double *means, double best) {
    long members = m < T ? m : T;
    double *V = zeros(d * d, sizeof(double)), *mean = zeros(d, sizeof(double)), *u = zeros(d, sizeof(double));
    double *theta = zeros(d, sizeof(double)), *scores = zeros(K, sizeof(double));
    int32_t *pulls = zeros(K, sizeof(int32_t)), *slots = zeros(m, sizeof(int32_t)); /* slot + 1; a direct index */
    double *sums = malloc(members * d * sizeof(double));
    int32_t *seen = malloc(members * K * sizeof(int32_t));
    double regret = 0;
    int used = 0;
    for (int i = 0; i < d; i++) V[i * d + i] = 1.0;
    for (long t = 0; t < T; t++) {
        long member = (long)(((unsigned __int128)next() * (uint64_t)m) >> 64);
        int fresh = slots[member] == 0;
        if (fresh) slots[member] = ++used;
        double *S = sums + (size_t)(slots[member] - 1) * d;
        int32_t *N = seen + (size_t)(slots[member] - 1) * K;
        if (fresh) {
            memset(N, 0, K * sizeof(int32_t));
            for (int i = 0; i < d; i++) S[i] = scale * normal();
        }
        for (int k = 0; k < K; k++) {
            int n = pulls[k] - N[k];
            if (n > 0) {
                double weight = scale * sqrt((double)n) * normal();
                const double *x = X + (size_t)k * d;
                N[k] = pulls[k];
                for (int i = 0; i < d; i++) S[i] += weight * x[i];
            }
        }
        for (int i = 0; i < d; i++) theta[i] = mean[i];
        for (int i = 0; i < d; i++)
            for (int j = 0; j < d; j++) theta[j] += S[i] * V[i * d + j];
        for (int k = 0; k < K; k++) scores[k] = 0;
        for (int i = 0; i < d; i++)
            for (int k = 0; k < K; k++) scores[k] += theta[i] * columns[(size_t)i * K + k];
        int arm = 0;
        for (int k = 1; k < K; k++)
            if (scores[k] > scores[arm]) arm = k;
        const double *x = X + (size_t)arm * d;
        for (int i = 0; i < d; i++) u[i] = 0;
        for (int i = 0; i < d; i++)
            for (int j = 0; j < d; j++) u[j] += x[i] * V[i * d + j];
        double leverage = 0, surprise = means[arm] + noise * normal();
        for (int i = 0; i < d; i++) leverage += u[i] * x[i], surprise -= mean[i] * x[i];
        double weight = 1.0 / (1.0 + leverage);
        for (int i = 0; i < d; i++) mean[i] += u[i] * (weight * surprise);
        for (int i = 0; i < d; i++) {
            double share = weight * u[i];
            for (int j = 0; j < d; j++) V[i * d + j] -= share * u[j];
        }
        pulls[arm]++;
        regret += best - means[arm];
    }
    free(V), free(mean), free(u), free(theta), free(scores), free(pulls), free(slots), free(sums), free(seen);
    return regret;
}

static double run(int d, int K, long m, long T, double noise, double scale, const double *X, const double *columns,
                  const double *means, double best) {
    if (d == 20 && K == 100) return rounds(20, 100, m, T, noise, scale, X, columns, means, best);
    return rounds(d, K, m, T, noise, scale, X, columns, means, best);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    if (argc != 9) return fprintf(stderr, "usage: floor DIM ARMS SIZE HORIZON NOISE SCALE REPEATS SEED\n"), 2;
    int d = atoi(argv[1]), K = atoi(argv[2]), repeats = atoi(argv[7]);
    long m = atol(argv[3]), T = atol(argv[4]);
    double noise = atof(argv[5]), scale = atof(argv[6]);
    double *X = zeros(K * d, sizeof(double)), *columns = zeros(K * d, sizeof(double)), *means = zeros(K, sizeof(double));
    double *truth = zeros(d, sizeof(double)), *times = zeros(repeats, sizeof(double)), sum = 0, squares = 0;
    build_layers();
    seed(strtoull(argv[8], NULL, 10));
    for (int r = 0; r < repeats; r++) {
        double best = -INFINITY;
        unit_row(truth, d);
        for (int k = 0; k < K; k++) {
            unit_row(X + (size_t)k * d, d);
            means[k] = 0;
            for (int i = 0; i < d; i++) {
                means[k] += X[(size_t)k * d + i] * truth[i];
                columns[(size_t)i * K + k] = X[(size_t)k * d + i];
            }
            if (k == 0 || means[k] > best) best = means[k];
        }
        struct timespec start, end;
        clock_gettime(CLOCK_MONOTONIC, &start);
        double regret = run(d, K, m, T, noise, scale, X, columns, means, best);
        clock_gettime(CLOCK_MONOTONIC, &end);
        times[r] = ((double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec)) / (double)T;
        sum += regret;
        squares += regret * regret;
    }
    qsort(times, repeats, sizeof(double), ascending);
    double average = sum / repeats, spread = sqrt(fmax(0.0, squares / repeats - average * average) / repeats);
    printf("{\"seconds_per_round\": %.6e, \"regret\": %.4f, \"standard_error\": %.4f}\n",
           0.5 * (times[(repeats - 1) / 2] + times[repeats / 2]), average, spread);
    return 0;
}
