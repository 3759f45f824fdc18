/* SPDX-License-Identifier: GPL-2.0-only */
/* The command line of hcomm_sim. */
#ifndef HCOMM_SIM_OPTIONS_H
#define HCOMM_SIM_OPTIONS_H

#include "sim.h"

enum sim_mode {
	MODE_COLL,
	MODE_COST,
	MODE_RANDOM,
	MODE_COLLS,
	MODE_REPLAY,
	MODE_P2P,
	MODE_ALLOC,
	MODE_DEATH,
	MODE_BREAK,
	MODE_MISMATCH,
};

/**
 * struct sim_options - what the command line says
 * @cfg: of one simulation
 * @spec: of one simulation
 * @mode: one simulation (MODE_COLL), the same without the engine (MODE_COST), or
 *	a set of them
 * @mode_name: as on the command line
 * @first: first seed
 * @last: last seed
 * @cases: so many seeds, 0: to @last
 * @limit: simulations per seed of some sets, 0: all
 * @agree: most that engine and plans may differ, in percent; 0: not compared
 * @csv: print lines of a table
 * @scalar: no vector units
 * @verbose: tell about each simulation
 */
struct sim_options {
	struct sim_cfg cfg;
	struct coll_spec spec;
	enum sim_mode mode;
	const char *mode_name;
	u64 first;
	u64 last;
	u32 cases;
	u32 limit;
	u32 agree;
	bool csv;
	bool scalar;
	bool verbose;
};

/* Ends the process with status 2 and what is wrong, if something is. */
void options_parse(struct sim_options *o, int argc, char **argv);

#endif /* HCOMM_SIM_OPTIONS_H */
