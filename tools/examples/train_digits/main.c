// SPDX-License-Identifier: GPL-2.0-only
/*
 * Data-parallel training of a classifier of handwritten digits.
 *
 * Every rank has the whole data set and works on its share of each batch.  The
 * sums of gradients, of losses and of right answers go through one AllReduce per
 * step, so all ranks make the same step from the same numbers: their parameters
 * stay equal to the bit, which is checked at the end.  What is reported is also
 * checked against a run of the same batches in one process, which sums in
 * another order: the figures have to agree to within the tolerances below.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../common/args.h"
#include "../../common/job.h"
#include "../../common/util.h"
#include "digits.h"
#include "net.h"
#include "rng.h"

/* What reordered fp32 sums may change over all epochs. */
#define LOSS_TOLERANCE		2e-3	/* of 1 + loss */
#define ACCURACY_TOLERANCE	0.01	/* of the test rows */

/* The gradients, then what is only reported, in the same bucket. */
#define BUCKET_LOSS		NET_PARAMS
#define BUCKET_CORRECT		(NET_PARAMS + 1)
#define BUCKET_SIZE		(NET_PARAMS + 2)

struct options {
	const char *path;
	const char *reference;
	const char *output;
	bool single;
	uint64_t epochs;
	uint64_t batch;
	uint64_t seed;
	double rate;
	double momentum;
	double percent;
	uint64_t local;
};

struct epoch {
	double loss;
	double train_accuracy;
	double test_accuracy;
};

/**
 * struct trainer - one rank's training
 * @opt: options
 * @digits: all rows; those from @train on, in the order of @order, are for tests
 * @order: a random order of the rows, of which the first @train are shuffled anew
 *	for each epoch
 * @train: rows to train with
 * @rank: this rank
 * @size: number of ranks; 1 and no @comm: the reference
 * @comm: there are others
 * @params: parameters
 * @velocity: momentum
 * @bucket: gradients and figures of one step
 * @comm_ns: time spent in calls of hcomm
 */
struct trainer {
	const struct options *opt;
	const struct digits *digits;
	uint32_t *order;
	uint32_t train;
	uint32_t rank;
	uint32_t size;
	bool comm;
	float *params;
	float *velocity;
	float *bucket;
	uint64_t comm_ns;
};

static void all_reduce(struct trainer *t, float *data, size_t count)
{
	uint64_t start = now_ns();

	if (t->comm)
		must(hcommAllReduce(data, data, count, hcommFloat32, hcommSum,
				    COMM_WORLD), "AllReduce");
	t->comm_ns += now_ns() - start;
}

/* this rank's part of @count rows that start at @first */
static void share_of(const struct trainer *t, uint32_t first, uint32_t count,
		     uint32_t *begin, uint32_t *end)
{
	*begin = first + (uint32_t)((uint64_t)count * t->rank / t->size);
	*end = first + (uint32_t)((uint64_t)count * (t->rank + 1) / t->size);
}

static void step(struct trainer *t, uint32_t first, uint32_t count)
{
	float rate = (float)t->opt->rate, keep = (float)t->opt->momentum;
	uint32_t begin, end, i;

	memset(t->bucket, 0, BUCKET_SIZE * sizeof(*t->bucket));
	share_of(t, first, count, &begin, &end);
	for (i = begin; i < end; i++) {
		uint32_t row = t->order[i];

		t->bucket[BUCKET_LOSS] +=
			net_gradient(t->params, t->digits->pixels + row * PIXELS,
				     t->digits->labels[row], t->bucket,
				     &t->bucket[BUCKET_CORRECT]);
	}
	all_reduce(t, t->bucket, BUCKET_SIZE);
	for (i = 0; i < NET_PARAMS; i++) {
		t->velocity[i] = keep * t->velocity[i] -
				 rate * t->bucket[i] / (float)count;
		t->params[i] += t->velocity[i];
	}
}

static double test(struct trainer *t)
{
	uint32_t rows = (uint32_t)t->digits->rows - t->train, begin, end, i;
	float *correct = t->bucket;

	*correct = 0;
	share_of(t, t->train, rows, &begin, &end);
	for (i = begin; i < end; i++) {
		uint32_t row = t->order[i];

		*correct += net_answer(t->params,
				       t->digits->pixels + row * PIXELS) ==
			    t->digits->labels[row];
	}
	all_reduce(t, correct, 1);
	return (double)*correct / rows;
}

static void train_epoch(struct trainer *t, uint32_t number, struct epoch *result)
{
	uint32_t first, count, batch = (uint32_t)t->opt->batch;
	double loss = 0, correct = 0;
	uint64_t start;

	rng_shuffle(t->order, t->train, t->opt->seed + 1 + number);
	for (first = 0; first < t->train; first += count) {
		count = t->train - first < batch ? t->train - first : batch;
		step(t, first, count);
		loss += (double)t->bucket[BUCKET_LOSS];
		correct += (double)t->bucket[BUCKET_CORRECT];
	}
	result->loss = loss / t->train;
	result->train_accuracy = correct / t->train;
	result->test_accuracy = test(t);
	if (!t->comm)
		return;
	start = now_ns();
	must(hcommBarrier(COMM_WORLD), "Barrier");
	t->comm_ns += now_ns() - start;
}

/* the others are for tests */
static uint32_t training_rows(const struct digits *digits)
{
	return (uint32_t)(digits->rows * 4 / 5);
}

static uint64_t steps_of_epoch(const struct options *opt, uint32_t rows)
{
	return (rows + opt->batch - 1) / opt->batch;
}

static void trainer_start(struct trainer *t, const struct options *opt,
			  const struct digits *digits, bool comm)
{
	size_t bytes = NET_PARAMS * sizeof(float);
	uint32_t i;

	memset(t, 0, sizeof(*t));
	t->opt = opt;
	t->digits = digits;
	t->train = training_rows(digits);
	t->size = 1;
	t->comm = comm;
	t->order = must_malloc(digits->rows * sizeof(*t->order));
	for (i = 0; i < digits->rows; i++)
		t->order[i] = i;
	rng_shuffle(t->order, (uint32_t)digits->rows, opt->seed);
	t->velocity = must_malloc(bytes);
	memset(t->velocity, 0, bytes);
	if (!comm) {
		t->params = must_malloc(bytes);
		t->bucket = must_malloc(BUCKET_SIZE * sizeof(float));
		net_init(t->params, opt->seed);
		return;
	}
	world(&t->rank, &t->size);
	t->params = must_hcomm_malloc(bytes);
	t->bucket = must_hcomm_malloc(BUCKET_SIZE * sizeof(float));
	/* Only rank 0 has the right ones. */
	net_init(t->params, opt->seed + t->rank);
	must(hcommBcast(t->params, NET_PARAMS, hcommFloat32, 0, COMM_WORLD),
	     "Broadcast");
}

static void trainer_end(struct trainer *t)
{
	free(t->order);
	free(t->velocity);
	if (t->comm) {
		hcommFree(t->params);
		hcommFree(t->bucket);
	} else {
		free(t->params);
		free(t->bucket);
	}
}

static uint64_t checksum(const float *params)
{
	uint64_t hash = 0xcbf29ce484222325ull;
	const unsigned char *bytes = (const unsigned char *)params;
	size_t i;

	for (i = 0; i < NET_PARAMS * sizeof(*params); i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3ull;
	return hash;
}

/* ------------------------------------------------------------ the single run */

static void train_single(const struct options *opt, const struct digits *digits,
			 struct epoch *epochs)
{
	struct trainer t;
	uint32_t i;

	trainer_start(&t, opt, digits, false);
	for (i = 0; i < opt->epochs; i++)
		train_epoch(&t, i, &epochs[i]);
	trainer_end(&t);
}

static void write_table(const struct options *opt, const struct epoch *epochs)
{
	FILE *out = opt->output ? results_open(opt->output) : stdout;
	uint32_t i;

	fprintf(out, "# epochs %llu batch %llu seed %llu rate %g momentum %g\n",
		(unsigned long long)opt->epochs, (unsigned long long)opt->batch,
		(unsigned long long)opt->seed, opt->rate, opt->momentum);
	fprintf(out, "# epoch loss train-accuracy test-accuracy\n");
	for (i = 0; i < opt->epochs; i++)
		fprintf(out, "%u %.9g %.9g %.9g\n", i + 1, epochs[i].loss,
			epochs[i].train_accuracy, epochs[i].test_accuracy);
	if (opt->output)
		results_close(out, opt->output);
	else if (fflush(out))
		fatal("standard output: %m");
}

static void read_table(const struct options *opt, struct epoch *epochs)
{
	FILE *in = fopen(opt->reference, "r");
	unsigned long long n, batch, seed;
	double rate, momentum;
	char line[256];
	uint32_t i = 0;

	if (!in)
		fatal("%s: %m", opt->reference);
	if (!fgets(line, sizeof(line), in) ||
	    sscanf(line, "# epochs %llu batch %llu seed %llu rate %lf momentum %lf",
		   &n, &batch, &seed, &rate, &momentum) != 5)
		fatal("%s: not written by --single", opt->reference);
	if (n != opt->epochs || batch != opt->batch || seed != opt->seed ||
	    fabs(rate - opt->rate) > 1e-6 || fabs(momentum - opt->momentum) > 1e-6)
		fatal("%s: was made with other options", opt->reference);
	while (i < opt->epochs && fgets(line, sizeof(line), in)) {
		if (*line == '#')
			continue;
		if (sscanf(line, "%*u %lf %lf %lf", &epochs[i].loss,
			   &epochs[i].train_accuracy,
			   &epochs[i].test_accuracy) != 3)
			fatal("%s: bad line '%s'", opt->reference, line);
		i++;
	}
	fclose(in);
	if (i < opt->epochs)
		fatal("%s: ends after %u epochs", opt->reference, i);
}

static int judge_accuracy(const struct options *opt, const struct epoch *last)
{
	if (last->test_accuracy > opt->percent / 100)
		return STATUS_OK;
	complain("test accuracy %.2f %% is not over %.2f %%",
		 100 * last->test_accuracy, 100 * opt->percent / 100);
	return STATUS_FAILED;
}

static int run_single(const struct options *opt, const struct digits *digits)
{
	struct epoch *epochs = must_malloc(opt->epochs * sizeof(*epochs));
	int status;

	train_single(opt, digits, epochs);
	write_table(opt, epochs);
	status = judge_accuracy(opt, &epochs[opt->epochs - 1]);
	free(epochs);
	return status;
}

/* -------------------------------------------------------- the distributed run */

static bool agrees(const struct epoch *a, const struct epoch *b)
{
	return fabs(a->loss - b->loss) <= LOSS_TOLERANCE * (1 + b->loss) &&
	       fabs(a->train_accuracy - b->train_accuracy) <= ACCURACY_TOLERANCE &&
	       fabs(a->test_accuracy - b->test_accuracy) <= ACCURACY_TOLERANCE;
}

static void print_head(const struct trainer *t)
{
	printf("%u ranks, %u rows to train with, %zu to test, batches of %llu, %d parameters\n",
	       t->size, t->train, t->digits->rows - t->train,
	       (unsigned long long)t->opt->batch, NET_PARAMS);
	printf("%5s  %21s  %19s  %19s  %8s  %6s\n", "", "loss", "train accuracy %",
	       "test accuracy %", "ms/step", "comm %");
	printf("%5s  %10s %10s  %9s %9s  %9s %9s\n", "epoch", "ranks", "single",
	       "ranks", "single", "ranks", "single");
}

static void print_epoch(uint32_t number, const struct epoch *e,
			const struct epoch *single, double ms, double comm)
{
	printf("%5u  %10.6f %10.6f  %9.2f %9.2f  %9.2f %9.2f  %8.2f  %6.1f%s\n",
	       number, e->loss, single->loss, 100 * e->train_accuracy,
	       100 * single->train_accuracy, 100 * e->test_accuracy,
	       100 * single->test_accuracy, ms, comm,
	       agrees(e, single) ? "" : "  DIFFERS");
	fflush(stdout);
}

static void prepare_reference(const struct options *opt,
			      const struct digits *digits, struct epoch *single)
{
	uint64_t start = now_ns();

	if (opt->reference) {
		read_table(opt, single);
		return;
	}
	train_single(opt, digits, single);
	printf("single process: %.2f ms per step\n",
	       (double)(now_ns() - start) / 1e6 /
	       (double)(opt->epochs * steps_of_epoch(opt, training_rows(digits))));
	fflush(stdout);
}

/* the most that an epoch is away from the single run */
static double worst_loss(const struct options *opt, const struct epoch *a,
			 const struct epoch *b)
{
	double worst = 0, diff;
	uint32_t i;

	for (i = 0; i < opt->epochs; i++) {
		diff = fabs(a[i].loss - b[i].loss) / (1 + b[i].loss);
		worst = diff > worst ? diff : worst;
	}
	return worst;
}

static int report(const struct options *opt, const struct epoch *epochs,
		  const struct epoch *single, bool identical)
{
	int status = judge_accuracy(opt, &epochs[opt->epochs - 1]);
	uint32_t i, differ = 0;

	for (i = 0; i < opt->epochs; i++)
		differ += !agrees(&epochs[i], &single[i]);
	printf("loss differs by at most %.1e of 1 + loss from the single process (allowed: %.0e)\n",
	       worst_loss(opt, epochs, single), LOSS_TOLERANCE);
	printf("parameters are %s on all ranks\n",
	       identical ? "identical to the bit" : "NOT identical");
	if (differ) {
		complain("%u epochs differ from the single process", differ);
		status = STATUS_FAILED;
	}
	printf("test accuracy %.2f %%: %s\n",
	       100 * epochs[opt->epochs - 1].test_accuracy,
	       status || !identical ? "FAIL" : "PASS");
	return status;
}

static bool params_identical(const struct trainer *t)
{
	uint64_t *sums = must_hcomm_malloc(3 * sizeof(*sums));
	bool same;

	sums[0] = checksum(t->params);
	must(hcommAllReduce(&sums[0], &sums[1], 1, hcommUint64, hcommMin,
			    COMM_WORLD), "AllReduce");
	must(hcommAllReduce(&sums[0], &sums[2], 1, hcommUint64, hcommMax,
			    COMM_WORLD), "AllReduce");
	same = sums[1] == sums[0] && sums[2] == sums[0];
	if (!same)
		complain("rank %u: checksum of the parameters is %016llx, on all ranks %016llx to %016llx",
			 t->rank, (unsigned long long)sums[0],
			 (unsigned long long)sums[1], (unsigned long long)sums[2]);
	hcommFree(sums);
	return same;
}

static int run_ranks(const struct options *opt, const struct digits *digits)
{
	struct epoch *epochs = must_malloc(opt->epochs * sizeof(*epochs));
	struct epoch *single = must_malloc(opt->epochs * sizeof(*single));
	uint64_t start, comm, total, steps;
	int status = STATUS_OK;
	struct trainer t;
	bool identical;
	uint32_t i;

	trainer_start(&t, opt, digits, true);
	if (!t.rank)
		prepare_reference(opt, digits, single);
	/* Ranks that wait for the reference must not count it as communication. */
	must(hcommBarrier(COMM_WORLD), "Barrier");
	if (!t.rank)
		print_head(&t);
	steps = steps_of_epoch(opt, t.train);
	total = now_ns();
	for (i = 0; i < opt->epochs; i++) {
		start = now_ns();
		comm = t.comm_ns;
		train_epoch(&t, i, &epochs[i]);
		start = now_ns() - start;
		if (!t.rank)
			print_epoch(i + 1, &epochs[i], &single[i],
				    (double)start / 1e6 / (double)steps,
				    100.0 * (double)(t.comm_ns - comm) /
				    (double)start);
	}
	total = now_ns() - total;
	identical = params_identical(&t);
	if (!t.rank) {
		printf("%.2f ms per step, %.1f %% of the time in communication\n",
		       (double)total / 1e6 / (double)(steps * opt->epochs),
		       100.0 * (double)t.comm_ns / (double)total);
		status = report(opt, epochs, single, identical);
		if (opt->output)
			write_table(opt, epochs);
	}
	if (!identical)
		status = STATUS_FAILED;
	/* Nobody leaves while another one still reports. */
	must(hcommBarrier(COMM_WORLD), "Barrier");
	trainer_end(&t);
	free(epochs);
	free(single);
	return status;
}

/* ------------------------------------------------------------------ arguments */

static void path_arg(struct argp_state *state, const char *text, void *options)
{
	struct options *opt = options;

	if (text)
		opt->path = text;
	else if (!opt->path)
		argp_error(state, "where are the digits? give the path of digits.csv.gz");
}

static const struct arg args[] = {
	ARG_FLAG('s', "single", single,
		 "Train in this process alone, without hcomm, and write a table of the epochs"),
	ARG_TEXT('R', "reference", "FILE", reference,
		 "Compare with this table of a --single run (default: rank 0 makes the run itself, first)"),
	ARG_TEXT('o', "output", "FILE", output, "Write the table there"),
	ARG_NUMBER('e', "epochs", "N", epochs, 1, 10000, "Number of epochs (default: 12)"),
	ARG_NUMBER('b', "batch", "ROWS", batch, 1, 1 << 20,
		   "Rows of a batch, over all ranks (default: 64)"),
	ARG_NUMBER('S', "seed", "N", seed, 1, 1 << 30, "Seed of weights and shuffles (default: 1)"),
	ARG_REAL('r', "rate", "X", rate, 10, "Learning rate (default: 0.05)"),
	ARG_REAL('m', "momentum", "X", momentum, 1, "Momentum (default: 0.9)"),
	ARG_REAL('a', "accuracy", "PERCENT", percent, 100,
		 "Fail unless the test accuracy is over this (default: 90)"),
	ARG_NUMBER('n', "local", "RANKS", local, 1, MAX_LOCAL_RANKS,
		   "Start so many ranks on this node"),
};

static const struct command_line command_line = {
	args, ARRAY_SIZE(args), .words = "digits.csv.gz", .word = path_arg, .end = path_arg,
	.doc = "Data-parallel training of a classifier of handwritten digits.\v"
	       "The launcher's environment says which rank this process is; without a launcher, use --local or --single.  "
	       "Exit status: 0 if the figures agree with the single process and the accuracy is reached, 1 if not, 2 on errors.",
};

int main(int argc, char **argv)
{
	struct options opt = {
		.epochs = 12, .batch = 64, .seed = 1, .rate = 0.05,
		.momentum = 0.9, .percent = 90,
	};
	struct digits digits;
	int status;

	parse_args(argc, argv, &command_line, &opt);
	if (!opt.single && !has_launcher() && opt.local) {
		need_device();
		return run_local_ranks(argv, (unsigned int)opt.local);
	}
	digits_load(&digits, opt.path);
	if (digits.rows < 10)
		fatal("%s: too few rows", opt.path);
	if (opt.single) {
		status = run_single(&opt, &digits);
	} else {
		must(hcommInit(&argc, &argv), "hcommInit");
		status = run_ranks(&opt, &digits);
		must(hcommFinalize(), "hcommFinalize");
	}
	digits_free(&digits);
	return status;
}
