/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private to control/config: does the machine have what the file names? Each call says what is
 * missing, at the setting, with what is there instead; nothing when the machine cannot be asked.
 */
#ifndef SLUICE_CONFIG_HOST_H
#define SLUICE_CONFIG_HOST_H

#include "control/config/reader.h"

/* `default_of`: the setting that the file leaves out, or "" where it names the CPU. */
void host_check_cpu(struct reader *r, const config_setting_t *setting, uint32_t cpu,
                    const char *default_of);

/* Interfaces of net_af_packet and net_af_xdp, and PCI addresses; other devices are made by EAL. */
void host_check_device(struct reader *r, const config_setting_t *setting, const char *device);

/* Is it the PCI address of a card? */
bool host_is_pci(const char *device);

/* The network interface that a net_af_packet or net_af_xdp device serves; false: it names none. */
#define HOST_INTERFACE_MAX 64
bool host_interface_of(const char *device, char name[HOST_INTERFACE_MAX]);

/* An AF_XDP device is given what arrives on the queues it names, and nobody the rest: the devices
 * of a port take all receive queues of their interfaces. `setting` is the list of them. */
void host_check_queues(struct reader *r, const config_setting_t *setting,
                       const struct port_settings *port);

#endif
