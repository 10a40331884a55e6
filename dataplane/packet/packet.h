/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What parsing found in a frame (parse.h fills it in). Plain data; compiles for BPF.
 */
#ifndef SLUICE_PACKET_PACKET_H
#define SLUICE_PACKET_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/admission/verdict.h"
#include "dataplane/policy/address.h"

#define PARSE_VLAN_MAX 2 /* deeper stacks are PACKET_DEEP_VLAN */

enum packet_kind {
    PACKET_MALFORMED,  /* `reason` says why */
    PACKET_NON_IP,     /* other ethertypes: ARP, LLDP, LACP, STP (802.3 lengths), PPPoE, MPLS ... */
    PACKET_CONTROL,    /* IP control: ND, MLD, IGMP, OSPF, EIGRP, PIM, VRRP */
    PACKET_TCP,        /* ports, flags, seq, ack, payload_bytes are set; also first fragments */
    PACKET_UDP,        /* ports, payload_bytes are set; also first fragments */
    PACKET_ICMP,       /* echo and other messages that are no errors */
    PACKET_ICMP_ERROR, /* carries a quoted packet, which starts at payload_offset */
    PACKET_FRAGMENT,   /* fragment offset > 0: no L4 header, none is read */
    PACKET_OTHER,      /* another protocol over IP: ESP, AH alone, GRE, SCTP ... */
    PACKET_DEEP_VLAN,  /* more tags than we walk: addresses unread */
    PACKET_DEEP_CHAIN, /* more extension headers than we walk: addresses read, ports not */
};

#define TCP_FIN 0x01
#define TCP_SYN 0x02
#define TCP_RST 0x04
#define TCP_ACK 0x10

struct packet {
    struct address source, destination; /* IP kinds only */
    uint32_t tcp_seq, tcp_ack;          /* host byte order */
    uint32_t fragment_id;               /* where is_fragment; host byte order */
    uint32_t ip_bytes;                  /* IP header and payload, from the IP header */
    uint32_t payload_bytes;             /* from payload_offset, by IP length; SYN data included */
    uint16_t source_port, destination_port; /* host byte order */
    /* Behind the L2 headers, behind the IP headers, and where payload_bytes start: behind the L4
     * header of TCP, UDP and ICMP, at l4_offset for other IP kinds. */
    uint16_t l3_offset, l4_offset, payload_offset;
    uint16_t vlan[PARSE_VLAN_MAX]; /* VLAN ids (12 bits), outer first; 0 where there is no tag */
    uint8_t vlan_tags;             /* 0 .. PARSE_VLAN_MAX */
    uint8_t protocol;              /* behind the IP headers walked; 0 where there is no IP */
    uint8_t tcp_flags;             /* the six classic bits and ECN, as on the wire */
    uint8_t kind;                  /* enum packet_kind */
    uint8_t reason;                /* enum reason; REASON_NONE unless PACKET_MALFORMED */
    bool is_fragment;              /* offset > 0 or more fragments follow */
    bool is_v6;
};

/* Did the parser read who sent it? Of a malformed packet it may have, too. Control traffic names
 * its sender on the link, who is nobody to be judged; "::" is nobody either. */
static inline bool packet_has_source(const struct packet *packet)
{
    return packet->kind != PACKET_CONTROL && (packet->source.halves[0] | packet->source.halves[1]);
}

#endif
