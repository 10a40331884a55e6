/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/rows.h"

const struct row *const rows_all[] = {
    &row_charge, &row_admit, &row_refuse, &row_known, &row_new, &row_refused, NULL,
};
