// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pictures of a schedule.  Ranks are lanes; a step stands in the column after the
 * last one of what it waits for: the steps of its dependencies and, if it
 * receives, the SEND at the other end.  So a column holds what can happen at the
 * same time, and the last column is the length of the longest chain.
 */
#include <stdlib.h>
#include <string.h>

#include "../common/util.h"
#include "sched.h"

#define CELL_W	46
#define CELL_H	22
#define LANE_H	34
#define LEFT	70
#define TOP	50

/**
 * struct lane - a rank
 * @steps: its steps
 * @deps: its dependency list
 * @nsteps: how many
 * @column: of each step, once it is known
 * @done: steps with a column
 */
struct lane {
	const struct hcomm_step *steps;
	const uint32_t *deps;
	uint32_t nsteps;
	uint32_t *column;
	uint32_t done;
};

struct picture {
	const struct job *job;
	struct lane *lanes;
	uint32_t nranks;
	uint32_t columns;
};

static bool receives(const struct hcomm_step *s)
{
	return s->op == HCOMM_STEP_RECV || s->op == HCOMM_STEP_RECV_REDUCE;
}

/* the step of @from that sends message @msg to @to; nsteps: none */
static uint32_t find_send(const struct lane *l, uint32_t to, uint32_t msg)
{
	uint32_t i;

	for (i = 0; i < l->nsteps; i++) {
		if (l->steps[i].op == HCOMM_STEP_SEND && l->steps[i].peer == to &&
		    l->steps[i].msg == msg)
			break;
	}
	return i;
}

/* the next step of a lane, if what it waits for has columns */
static bool place_next(struct picture *p, uint32_t rank)
{
	struct lane *l = &p->lanes[rank], *from;
	const struct hcomm_step *s = &l->steps[l->done];
	uint32_t col = 0, d, i, c;

	for (d = 0; d < s->dep_count; d++) {
		c = l->column[HCOMM_DEP_INDEX(l->deps[s->dep_first + d])] + 1;
		if (c > col)
			col = c;
	}
	if (receives(s)) {
		from = &p->lanes[s->peer];
		i = find_send(from, rank, s->msg);
		if (i >= from->done)
			return false;
		if (from->column[i] + 1 > col)
			col = from->column[i] + 1;
	}
	l->column[l->done++] = col;
	if (col + 1 > p->columns)
		p->columns = col + 1;
	return true;
}

static void picture_make(struct picture *p, const struct job *job,
			 struct hcomm_plan **plans)
{
	uint32_t i, ndeps;
	bool moved = true;

	*p = (struct picture){ .job = job, .nranks = job->args.nranks };
	p->lanes = calloc(p->nranks, sizeof(*p->lanes));
	if (!p->lanes)
		fatal("no memory");
	for (i = 0; i < p->nranks; i++) {
		struct lane *l = &p->lanes[i];

		l->steps = hcomm_plan_steps(plans[i], &l->nsteps);
		l->deps = hcomm_plan_deps(plans[i], &ndeps);
		l->column = must_malloc(l->nsteps * sizeof(*l->column));
	}
	while (moved) {
		moved = false;
		for (i = 0; i < p->nranks; i++) {
			while (p->lanes[i].done < p->lanes[i].nsteps && place_next(p, i))
				moved = true;
		}
	}
	for (i = 0; i < p->nranks; i++) {
		if (p->lanes[i].done < p->lanes[i].nsteps)
			fatal("rank %u waits for ever at step %u", i, p->lanes[i].done);
	}
}

static void picture_free(struct picture *p)
{
	uint32_t i;

	for (i = 0; i < p->nranks; i++)
		free(p->lanes[i].column);
	free(p->lanes);
}

static const struct {
	const char *letter;
	const char *color;
} looks[HCOMM_STEP_COUNT] = {
	[HCOMM_STEP_NOP] = { "nop", "#dddddd" },
	[HCOMM_STEP_SEND] = { "S", "#f6c177" },
	[HCOMM_STEP_RECV] = { "R", "#9ccfd8" },
	[HCOMM_STEP_RECV_REDUCE] = { "R+", "#c4a7e7" },
	[HCOMM_STEP_COPY] = { "C", "#b8d8a0" },
	[HCOMM_STEP_REDUCE] = { "+", "#eb9fb0" },
	[HCOMM_STEP_SCALE] = { "x", "#eedd99" },
};

/* ------------------------------------------------------------------------ SVG */

/* steps of one rank in one column are stacked, so lanes differ in height */
struct layout {
	uint32_t *top;		/* of each lane, in cells */
	uint32_t *row;		/* of the step, within its lane and column */
};

static uint32_t stack(const struct picture *p, struct layout *lay)
{
	uint32_t *used = must_malloc(p->columns * sizeof(*used));
	uint32_t total = 0, at = 0, cells = 0, i, j, most;

	for (i = 0; i < p->nranks; i++)
		total += p->lanes[i].nsteps;
	lay->top = must_malloc((p->nranks + 1) * sizeof(*lay->top));
	lay->row = must_malloc(total * sizeof(*lay->row));
	for (i = 0; i < p->nranks; i++) {
		memset(used, 0, p->columns * sizeof(*used));
		lay->top[i] = cells;
		most = 1;
		for (j = 0; j < p->lanes[i].nsteps; j++) {
			lay->row[at] = used[p->lanes[i].column[j]]++;
			if (lay->row[at] + 1 > most)
				most = lay->row[at] + 1;
			at++;
		}
		cells += most;
	}
	lay->top[p->nranks] = cells;
	free(used);
	return cells;
}

static uint32_t x_of(uint32_t column)
{
	return LEFT + column * (CELL_W + 24);
}

static uint32_t y_of(uint32_t cell, uint32_t lane)
{
	return TOP + cell * (CELL_H + 4) + lane * (LANE_H - CELL_H);
}

static void svg_steps(const struct picture *p, const struct layout *lay, FILE *out)
{
	uint32_t i, j, at = 0;
	char len[24];

	for (i = 0; i < p->nranks; i++) {
		for (j = 0; j < p->lanes[i].nsteps; j++, at++) {
			const struct hcomm_step *s = &p->lanes[i].steps[j];
			uint32_t x = x_of(p->lanes[i].column[j]);
			uint32_t y = y_of(lay->top[i] + lay->row[at], i);

			fprintf(out, "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" rx=\"3\" fill=\"%s\"><title>rank %u step %u: %llu bytes</title></rect>\n",
				x, y, CELL_W, CELL_H, looks[s->op].color, i, j,
				(unsigned long long)s->len);
			fprintf(out, "<text x=\"%u\" y=\"%u\">%s %s</text>\n", x + 3,
				y + 15, looks[s->op].letter, format_size(s->len, len));
		}
	}
}

static void svg_messages(const struct picture *p, const struct layout *lay, FILE *out)
{
	uint32_t *first = must_malloc(p->nranks * sizeof(*first)), i, j, at = 0;

	for (i = 0; i < p->nranks; i++) {
		first[i] = at;
		at += p->lanes[i].nsteps;
	}
	for (i = 0; i < p->nranks; i++) {
		for (j = 0; j < p->lanes[i].nsteps; j++) {
			const struct hcomm_step *s = &p->lanes[i].steps[j];
			const struct lane *from = &p->lanes[s->peer];
			uint32_t k;

			if (!receives(s))
				continue;
			k = find_send(from, i, s->msg);
			fprintf(out, "<line x1=\"%u\" y1=\"%u\" x2=\"%u\" y2=\"%u\"/>\n",
				x_of(from->column[k]) + CELL_W,
				y_of(lay->top[s->peer] + lay->row[first[s->peer] + k],
				     s->peer) + CELL_H / 2,
				x_of(p->lanes[i].column[j]),
				y_of(lay->top[i] + lay->row[first[i] + j], i) +
				CELL_H / 2);
		}
	}
	free(first);
}

void draw_svg(const struct job *job, struct hcomm_plan **plans, FILE *out)
{
	struct layout lay;
	struct picture p;
	uint32_t cells, i;

	picture_make(&p, job, plans);
	cells = stack(&p, &lay);
	fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" font-family=\"sans-serif\" font-size=\"11\">\n",
		x_of(p.columns) + 10, y_of(cells, p.nranks) + 10);
	fprintf(out, "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n");
	fprintf(out, "<text x=\"10\" y=\"20\" font-size=\"14\">%s",
		hcomm_coll_name(job->args.coll));
	if (job->args.coll != HCOMM_COLL_BARRIER)
		fprintf(out, " of %llu elements", (unsigned long long)job->args.count);
	fprintf(out, " by %s, %u ranks on %llu nodes</text>\n",
		hcomm_algo_name(job->args.algo), p.nranks,
		(unsigned long long)job->nodes);
	for (i = 0; i < p.nranks; i++)
		fprintf(out, "<text x=\"10\" y=\"%u\">rank %u</text>\n<line x1=\"10\" x2=\"%u\" y1=\"%u\" y2=\"%u\" stroke=\"%s\"/>\n",
			y_of(lay.top[i], i) + 15, i, x_of(p.columns),
			y_of(lay.top[i], i) - 5, y_of(lay.top[i], i) - 5,
			i % job->per_node ? "#dddddd" : "#444444");
	fprintf(out, "<g stroke=\"#555555\" stroke-width=\"0.8\">\n");
	svg_messages(&p, &lay, out);
	fprintf(out, "</g>\n");
	svg_steps(&p, &lay, out);
	fprintf(out, "</svg>\n");
	free(lay.top);
	free(lay.row);
	picture_free(&p);
}

/* ------------------------------------------------------------------------ dot */

static void dot_rank(const struct picture *p, uint32_t rank, FILE *out)
{
	const struct lane *l = &p->lanes[rank];
	uint32_t j, d;
	char len[24];

	fprintf(out, "subgraph cluster_%u { label=\"rank %u\"; color=\"#bbbbbb\";\n",
		rank, rank);
	for (j = 0; j < l->nsteps; j++) {
		const struct hcomm_step *s = &l->steps[j];

		fprintf(out, "\"%u.%u\" [label=\"%u %s %s\", fillcolor=\"%s\"];\n", rank,
			j, j, looks[s->op].letter, format_size(s->len, len),
			looks[s->op].color);
		for (d = 0; d < s->dep_count; d++) {
			uint32_t dep = l->deps[s->dep_first + d];

			fprintf(out, "\"%u.%u\" -> \"%u.%u\" [style=%s];\n", rank,
				HCOMM_DEP_INDEX(dep), rank, j,
				dep & HCOMM_DEP_STREAM ? "dashed" : "solid");
		}
	}
	fprintf(out, "}\n");
}

void draw_dot(const struct job *job, struct hcomm_plan **plans, FILE *out)
{
	struct picture p;
	uint32_t i, j;

	picture_make(&p, job, plans);
	fprintf(out, "digraph schedule {\nrankdir=LR;\nnode [shape=box, style=filled, fontsize=10];\n");
	for (i = 0; i < p.nranks; i++)
		dot_rank(&p, i, out);
	for (i = 0; i < p.nranks; i++) {
		for (j = 0; j < p.lanes[i].nsteps; j++) {
			const struct hcomm_step *s = &p.lanes[i].steps[j];

			if (receives(s))
				fprintf(out, "\"%u.%u\" -> \"%u.%u\" [color=\"#c05020\"];\n",
					s->peer, find_send(&p.lanes[s->peer], i, s->msg),
					i, j);
		}
	}
	fprintf(out, "}\n");
	picture_free(&p);
}
