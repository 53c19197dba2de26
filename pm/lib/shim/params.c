/* Parameters of providers, which are variables: FI_PROVIDER_NAME. */
#define _GNU_SOURCE
#include "libfabric.h"

#include <ctype.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Parameters that programs define; more than these are not remembered. */
#define MAX_PARAMS 256
#define MAX_NAME 128

static struct {
	char name[MAX_NAME];
	enum fi_param_type type;
} params[MAX_PARAMS];
static int defined;

static void variable(char *to, const struct fi_provider *provider, const char *name)
{
	snprintf(to, MAX_NAME, provider ? "FI_%s_%s" : "FI_%s%s", provider ? provider->name : "", name);
	for (; *to; to++)
		*to = (char)toupper((unsigned char)*to);
}

EXPORT int fi_param_define(const struct fi_provider *provider, const char *name, enum fi_param_type type, const char *help, ...)
{
	if (!name || defined == MAX_PARAMS)
		return name ? -FI_ENOMEM : -FI_EINVAL;
	variable(params[defined].name, provider, name);
	params[defined++].type = type;
	return 0;
}

static int truth(const char *text, int *value)
{
	static const char *const yes[] = {"1", "true", "yes", "on"}, *const no[] = {"0", "false", "no", "off"};

	for (int i = 0; i < 4; i++) {
		if (strcasecmp(text, yes[i]) == 0)
			return *value = 1, 0;
		if (strcasecmp(text, no[i]) == 0)
			return *value = 0, 0;
	}
	return -FI_EINVAL;
}

static int parse(enum fi_param_type type, char *text, void *value)
{
	char *end = text;

	switch (type) {
	case FI_PARAM_STRING:
		*(char **)value = text;
		return 0;
	case FI_PARAM_INT:
		*(int *)value = (int)strtol(text, &end, 0);
		break;
	case FI_PARAM_BOOL:
		return truth(text, value);
	case FI_PARAM_SIZE_T:
		*(size_t *)value = (size_t)strtoull(text, &end, 0);
		break;
	default:
		return -FI_EINVAL;
	}
	return end == text || *end ? -FI_EINVAL : 0;
}

EXPORT int fi_param_get(struct fi_provider *provider, const char *name, void *value)
{
	char wanted[MAX_NAME], *text;

	if (!name || !value)
		return -FI_EINVAL;
	variable(wanted, provider, name);
	for (int i = 0; i < defined; i++) {
		if (strcmp(params[i].name, wanted) != 0)
			continue;
		text = getenv(wanted);
		return text ? parse(params[i].type, text, value) : -FI_ENODATA;
	}
	return -FI_ENOENT;
}

/* The library has none of its own, and those of providers are theirs. */
EXPORT int fi_getparams(struct fi_param **list, int *count)
{
	*list = NULL;
	*count = 0;
	return 0;
}

EXPORT void fi_freeparams(struct fi_param *list) {}
