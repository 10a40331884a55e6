/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/rows.h"

#define FOUR(rows, at) &(rows)[at], &(rows)[(at) + 1], &(rows)[(at) + 2], &(rows)[(at) + 3]

const struct row *const rows_all[] = {
    &row_charge,
    &row_admit,
    &row_refuse,
    FOUR(rows_full, 0),
    &rows_full[4],
    &row_known,
    &row_known_exchange,
    &row_new,
    &row_refused,
    FOUR(rows_lookups, 0),
    FOUR(rows_lookups, 4),
    &rows_lookups[8],
    &rows_lookups[9],
    &rows_lookups[10],
    &row_lookup_flow,
    &row_lookup_flow_crc,
    &row_lookup_flow_jhash,
    FOUR(rows_leases, 0),
    FOUR(rows_leases, 4),
    FOUR(rows_leases, 8),
    FOUR(rows_leases, 12),
    FOUR(rows_leases, 16),
    NULL,
};
