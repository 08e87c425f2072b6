/* Copyright: (c) 2026, The gpufleet authors
 * GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A stand-in for all_reduce_perf of nccl-tests, for machines without GPUs. It truly measures MPI_Allreduce between
 * host memories, checks the sums, and prints the table that nccl-tests prints. It says "stand-in" wherever it can.
 *
 * mpicc -O2 -o all_reduce_perf allreduce.c; mpirun ... all_reduce_perf -b 8 -e 1M -f 2 [-n iters] [-w warmup] [-c 0|1]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *name = "stand-in (host memory)";
static int rank, ranks;

static long bytes_of(const char *text)
{
    char *end;
    double value = strtod(text, &end);
    switch (*end) {
    case 'G': case 'g': value *= 1024; /* fall through */
    case 'M': case 'm': value *= 1024; /* fall through */
    case 'K': case 'k': value *= 1024; break;
    case '\0': break;
    default: value = -1;
    }
    return (long)value;
}

static void fill(float *data, long count)
{
    for (long i = 0; i < count; i++) data[i] = (float)((i + rank) % 17);
}

static long wrong_in(const float *data, long count)
{
    long wrong = 0;
    for (long i = 0; i < count; i++) {
        long sum = 0;
        for (int r = 0; r < ranks; r++) sum += (i + r) % 17;
        wrong += data[i] != (float)sum;
    }
    return wrong;
}

/* Seconds of one call, of the slowest rank. The sums are checked over one call with fresh data. */
static double measure(float *send, float *receive, long count, int iterations, int warmup, int check, long *wrong)
{
    const void *from = send == receive ? MPI_IN_PLACE : send;
    double begin, mine, slowest;
    for (int i = 0; i < warmup; i++) MPI_Allreduce(from, receive, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    for (int i = 0; i < iterations; i++) MPI_Allreduce(from, receive, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    mine = (MPI_Wtime() - begin) / iterations;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    *wrong = 0;
    if (check) {
        long found;
        fill(send, count);
        MPI_Allreduce(from, receive, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        found = wrong_in(receive, count);
        MPI_Allreduce(&found, wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    }
    return slowest;
}

static double print_cells(long size, double seconds, int check, long wrong)
{
    double micro = seconds * 1e6, algbw = seconds > 0 ? size / seconds / 1e9 : 0, busbw = algbw * 2 * (ranks - 1) / ranks;
    // Two decimals as in nccl-tests say nothing of an emulated network: there are more where they fit into the column.
    int digits = algbw < 10 ? 4 : 2;
    printf("  %7.*f  %6.*f  %6.*f", micro < 100 ? 2 : micro < 10000 ? 1 : 0, micro, digits, algbw, digits, busbw);
    if (check) printf("  %5g", (double)wrong);
    else printf("  %5s", "N/A");
    return busbw;
}

static void print_ranks(void)
{
    char line[256] = "", host[128] = "";
    gethostname(host, sizeof host - 1);
    host[strcspn(host, ".")] = '\0';
    snprintf(line, sizeof line, "#  Rank %2d Group  0 Pid %6d on %10s device  0 [0000:00:00] %s\n", rank, (int)getpid(), host, name);
    for (int r = 0; r < ranks; r++) {
        char other[sizeof line];
        if (r == rank) memcpy(other, line, sizeof line);
        MPI_Bcast(other, sizeof other, MPI_CHAR, r, MPI_COMM_WORLD);
        if (rank == 0) fputs(other, stdout);
    }
}

int main(int argc, char **argv)
{
    long least = 8, most = 1 << 20, factor = 2, iterations = 20, warmup = 1, check = 1, bad = 0, rows = 0;
    double total = 0;
    int option;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    while ((option = getopt(argc, argv, "b:e:f:n:w:c:g:")) != -1) {
        long value = option == '?' ? -1 : bytes_of(optarg);
        if (value < 0) { if (rank == 0) fprintf(stderr, "stand-in: option -%c is not valid\n", optopt ? optopt : option); MPI_Abort(MPI_COMM_WORLD, 6); }
        switch (option) {
        case 'b': least = value; break;
        case 'e': most = value; break;
        case 'f': factor = value; break;
        case 'n': iterations = value; break;
        case 'w': warmup = value; break;
        case 'c': check = value; break;
        default: break; /* -g: GPUs a process, of which there are none */
        }
    }
    least = least < 4 ? 4 : least;
    if (most < least || factor < 2 || iterations < 1 || most / 4 > 0x7fffffff) {
        if (rank == 0) fprintf(stderr, "stand-in: invalid sizes for 'minbytes' and 'maxbytes': %ld > %ld, or -f below 2\n", least, most);
        MPI_Abort(MPI_COMM_WORLD, 6);
    }
    float *send = malloc((size_t)most), *receive = malloc((size_t)most);
    if (!send || !receive) { fprintf(stderr, "stand-in: no memory for 2 x %ld bytes\n", most); MPI_Abort(MPI_COMM_WORLD, 1); }
    memset(send, 0, (size_t)most);
    memset(receive, 0, (size_t)most);
    if (rank == 0) {
        printf("# stand-in for nccl-tests: MPI_Allreduce between host memories, no GPU and no NCCL in it\n");
        printf("# Collective test starting: all_reduce_perf\n");
        printf("# nThread 1 nGpus 1 minBytes %ld maxBytes %ld step: %ld(factor) warmup iters: %ld iters: %ld agg iters: 1 validation: %ld graph: 0\n#\n# Using devices\n", least, most, factor, warmup, iterations, check);
    }
    print_ranks();
    if (rank == 0) {
        printf("#\n#                                                              out-of-place                       in-place          \n");
        printf("#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n");
        printf("#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       \n");
    }
    for (long size = least / 4 * 4; size <= most; size *= factor, rows++) {
        long wrong[2], count = size / 4;
        double apart = measure(send, receive, count, (int)iterations, (int)warmup, (int)check, &wrong[0]);
        memset(receive, 0, (size_t)size);
        double in_place = measure(receive, receive, count, (int)iterations, (int)warmup, (int)check, &wrong[1]);
        bad += (wrong[0] > 0) + (wrong[1] > 0);
        if (rank != 0) continue;
        printf("%12ld  %12ld  %8s  %6s  %6d", size, count, "float", "sum", -1);
        total += print_cells(size, apart, (int)check, wrong[0]) + print_cells(size, in_place, (int)check, wrong[1]);
        printf("\n");
        fflush(stdout);
    }
    if (rank == 0) printf("# Out of bounds values : %ld %s\n# Avg bus bandwidth    : %g \n#\n# Collective test concluded: all_reduce_perf\n#\n", bad, bad ? "FAILED" : "OK", rows ? total / (2 * rows) : 0);
    MPI_Finalize();
    return bad ? 7 : 0;
}
