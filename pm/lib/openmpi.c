/*
 * Open MPI before 4.1.6 (its issue 11751) sends the wrong bytes where its pml/cm prepares a request that
 * it starts later, and the bytes of the type are in one piece that does not begin at the buffer's address,
 * as of a row of a matrix: those from the buffer's address on. Programs ask for such requests
 * (MPI_Send_init), and so do MPI_Alltoallw and windows. Here these get the address where the bytes begin,
 * and a type that begins there.
 *
 * Up to the last 4.1 a synchronous send (MPI_Ssend) does not end if a probe has matched its message
 * (MPI_Mprobe, MPI_Mrecv; mpi4py's futures wait so): mtl/ofi forgets to answer it. Here the library does.
 *
 * From 4.1 on btl/ofi, which programs have for windows, sleeps for a second when it is closed, for another
 * provider. Here it does not.
 */
#define _GNU_SOURCE
#include "openmpi.h"
#include "openmpimatched.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef void *datatype;
typedef ptrdiff_t aint;
typedef int prepare(const void *buf, size_t count, datatype type, int to, int tag, int mode, void *comm, void **request);

/* Where functions are in the table of Open MPI's layer of point-to-point messages, mca_pml. */
struct places {
	int add_comm, isend_init, imrecv, mrecv;
};

static const struct places places4 = {4, 9, 17, 18}, places5 = {4, 10, 18, 19};

static struct {
	prepare *isend_init;
	int (*version)(char *text, int *length);
	int (*type_size)(datatype, int *bytes);
	int (*type_true_extent)(datatype, aint *begin, aint *bytes);
	int (*type_hindexed)(int blocks, const int *lengths, const aint *places, datatype, datatype *made);
	int (*type_commit)(datatype *);
	int (*type_free)(datatype *);
} mpi;

static int isend_init(const void *buf, size_t count, datatype type, int to, int tag, int mode, void *comm, void **request)
{
	static const int one = 1;
	int size = 0, err;
	aint begin = 0, bytes, back;
	datatype moved;

	if (mpi.type_size(type, &size) || size == 0 || mpi.type_true_extent(type, &begin, &bytes) || begin == 0)
		return mpi.isend_init(buf, count, type, to, tag, mode, comm, request);
	back = -begin;
	err = mpi.type_hindexed(1, &one, &back, type, &moved);
	if (err)
		return err;
	err = mpi.type_commit(&moved);
	if (!err)
		err = mpi.isend_init((const char *)buf + begin, count, moved, to, tag, mode, comm, request);
	mpi.type_free(&moved); /* the request keeps it */
	return err;
}

/* Of versions that have the faults. Others stay alone. */
static struct {
	const struct places *places; /* NULL: of another version */
	bool prepares_wrong, forgets_answers, loses_matched;
} faults;

static void find_faults(void)
{
	char text[256] = ""; /* MPI_MAX_LIBRARY_VERSION_STRING */
	int length = 0, minor, release;

	if (mpi.version(text, &length))
		return;
	if (sscanf(text, "Open MPI v4.%d.%d", &minor, &release) == 2 && minor <= 1) {
		faults.places = &places4;
		faults.prepares_wrong = minor == 0 || release < 6;
		faults.forgets_answers = faults.loses_matched = true;
	} else if (sscanf(text, "Open MPI v5.%d", &minor) == 1 && minor == 0) {
		faults.places = &places5;
		faults.loses_matched = true;
	}
}

/*
 * The mask is the bit that asks, and those of the user's tag if he takes any: so messages are probed for
 * in the standard layout of tags alone.
 */
bool pm_answers(uint64_t ignore) { return faults.forgets_answers && (ignore & ~(uint64_t)INT32_MAX) == OPENMPI_SYNC; }

/* of_cm reports whether the table is pml/cm's, which is a library of its own or a part of Open MPI 5's. */
static int of_cm(void *library, void *const *pml)
{
	void *add_comm = pml[faults.places->add_comm];
	Dl_info in;

	if (!add_comm)
		return 0;
	return add_comm == dlsym(library, "mca_pml_cm_add_comm") ||
	       (dladdr(add_comm, &in) && in.dli_fname && strstr(in.dli_fname, "mca_pml_cm"));
}


static void mend_prepare(void *library, prepare **function)
{
	if (pm_found(&mpi.type_size, library, "PMPI_Type_size") &&
	    pm_found(&mpi.type_true_extent, library, "PMPI_Type_get_true_extent") &&
	    pm_found(&mpi.type_hindexed, library, "PMPI_Type_create_hindexed") &&
	    pm_found(&mpi.type_commit, library, "PMPI_Type_commit") &&
	    pm_found(&mpi.type_free, library, "PMPI_Type_free")) {
		mpi.isend_init = *function;
		*function = isend_init;
	}
}

/* A component of Open MPI: mca_base_component_t of version 2.1.0. */
struct component {
	int layout[3];
	char project[16];
	int project_release[3];
	char framework[32];
	int framework_release[3];
	char name[64];
	int release[3];
	int (*open)(void);
	int (*close)(void);
};

static bool is_btl_ofi(const struct component *c)
{
	return c->layout[0] == 2 && c->layout[1] == 1 && !strcmp(c->framework, "btl") && !strcmp(c->name, "ofi") &&
	       ((c->release[0] == 4 && c->release[1] == 1) || (c->release[0] == 5 && c->release[1] == 0));
}

/*
 * pm_hurry_openmpi: from 4.1.2 on the component's close does two things, this call and the sleep. It is a
 * library of its own, or a part of Open MPI 5's, which may be hidden from others (RTLD_LOCAL).
 */
void pm_hurry_openmpi(void)
{
	void *library = dlopen("libmpi.so.40", RTLD_LAZY | RTLD_NOLOAD);
	struct component *btl;
	int (*common_close)(void);

	if (!library)
		return;
	if ((pm_found(&btl, RTLD_DEFAULT, "mca_btl_ofi_component") && pm_found(&common_close, RTLD_DEFAULT, "opal_common_ofi_close")) ||
	    (pm_found(&btl, library, "mca_btl_ofi_component") && pm_found(&common_close, library, "opal_common_ofi_close")))
		if (is_btl_ofi(btl))
			btl->close = common_close;
	dlclose(library);
}

void pm_mend_openmpi(void)
{
	void *library = mpi.version ? NULL : dlopen("libmpi.so.40", RTLD_LAZY | RTLD_NOLOAD);
	void **pml;

	if (!library)
		return; /* done already, or another MPI */
	if (pm_found(&pml, library, "mca_pml") && pm_found(&mpi.version, library, "PMPI_Get_library_version"))
		find_faults();
	if (faults.places && of_cm(library, pml)) {
		if (faults.prepares_wrong)
			mend_prepare(library, (prepare **)&pml[faults.places->isend_init]);
		if (faults.loses_matched)
			pm_mend_matched(library, (pm_receive_matched **)&pml[faults.places->imrecv],
					(pm_receive_matched **)&pml[faults.places->mrecv]);
	}
	dlclose(library);
}
