// SPDX-License-Identifier: LGPL-2.1-or-later
/* Least squares: from measured messages to the numbers of the model. */
#include <stdbool.h>

#include "model.h"

/*
 * Minimise the sum of ((a + b * x - t) / t)^2 over the points of a class: squares
 * of relative errors, else the largest message alone would decide.
 */
struct sums {
	double w;	/* 1 / t^2 */
	double wx;
	double wxx;
	double wt;
	double wxt;
	uint64_t min;
	uint64_t max;
	uint32_t n;
};

static void add(struct sums *s, const struct hcomm_probe *p)
{
	double x = (double)p->bytes, t = p->seconds, w = 1 / (t * t);

	s->w += w;
	s->wx += w * x;
	s->wxx += w * x * x;
	s->wt += w * t;
	s->wxt += w * x * t;
	if (!s->n || p->bytes < s->min)
		s->min = p->bytes;
	if (!s->n || p->bytes > s->max)
		s->max = p->bytes;
	s->n++;
}

static void set_start(struct hcomm_link_model *l, double start)
{
	double sum = l->latency + l->overhead;
	double part = sum > 0 ? l->latency / sum : 0.5;

	l->latency = start * part;
	l->overhead = start - l->latency;
}

static bool fit_class(struct hcomm_link_model *l, const struct sums *s)
{
	double det = s->w * s->wxx - s->wx * s->wx;
	double start, slope = 1 / l->bandwidth;

	if (!s->n)
		return false;
	if (s->max > s->min && det > 0) {
		slope = (s->w * s->wxt - s->wx * s->wt) / det;
		/* noise: no slope to be seen */
		if (slope < 1e-18 || slope > 1)
			slope = 1 / l->bandwidth;
	}
	start = (s->wt - slope * s->wx) / s->w;
	/* a line through the origin at worst: nothing is free */
	if (start < 1e-9)
		start = 1e-9;
	if (start > 1000)
		start = 1000;
	set_start(l, start);
	l->bandwidth = 1 / slope;
	return true;
}

static void scale(struct hcomm_link_model *l, double time, double rate)
{
	l->latency *= time;
	l->overhead *= time;
	l->bandwidth *= rate;
	if (l->latency > 1000)
		l->latency = 1000;
	if (l->overhead > 1000)
		l->overhead = 1000;
	if (l->bandwidth < 1)
		l->bandwidth = 1;
	if (l->bandwidth > 1e18)
		l->bandwidth = 1e18;
}

uint32_t hcomm_model_fit(struct hcomm_model *model,
			 const struct hcomm_probe *probes, size_t nprobes)
{
	struct sums sums[HCOMM_LINK_CLASSES] = { 0 };
	struct hcomm_model old = *model;
	double time = 1, rate = 1;
	uint32_t fitted = 0, c;
	size_t i;

	for (i = 0; i < nprobes; i++) {
		if (probes[i].cls < HCOMM_LINK_CLASSES && probes[i].seconds > 1e-12 &&
		    probes[i].seconds < 1000)
			add(&sums[probes[i].cls], &probes[i]);
	}
	for (c = 0; c < HCOMM_LINK_CLASSES; c++) {
		struct hcomm_link_model *l = &model->link[c], *o = &old.link[c];

		if (!fit_class(l, &sums[c])) {
			scale(l, time, rate);
			continue;
		}
		fitted++;
		time = (l->latency + l->overhead) / (o->latency + o->overhead + 1e-12);
		rate = l->bandwidth / o->bandwidth;
	}
	/* memory is as much faster or slower as copies between ranks are */
	if (sums[HCOMM_LINK_LOCAL].n) {
		rate = model->link[HCOMM_LINK_LOCAL].bandwidth /
		       old.link[HCOMM_LINK_LOCAL].bandwidth;
		model->copy_rate = old.copy_rate * rate;
		model->reduce_rate = old.reduce_rate * rate;
	}
	return hcomm_model_check(model) ? (*model = old, 0) : fitted;
}
