/*
 * Open MPI before 4.1.6 (its issue 11751) sends the wrong bytes where its pml/cm prepares a request that
 * it starts later, and the bytes of the type are in one piece that does not begin at the buffer's address,
 * as of a row of a matrix: those from the buffer's address on. Programs ask for such requests
 * (MPI_Send_init), and so do MPI_Alltoallw and windows. Here these get the address where the bytes begin,
 * and a type that begins there.
 */
#define _GNU_SOURCE
#include "openmpi.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef void *datatype;
typedef ptrdiff_t aint;
typedef int prepare(const void *buf, size_t count, datatype type, int to, int tag, int mode, void *comm, void **request);

/* The functions of Open MPI's layer of point-to-point messages, of versions 4.0 and 4.1. */
struct pml {
	void (*others[9])(void);
	prepare *isend_init;
};

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

/* affected reports whether the version of the library has the fault, and the table above. */
static int affected(void)
{
	char text[256] = ""; /* MPI_MAX_LIBRARY_VERSION_STRING */
	int length = 0, minor, release;

	if (mpi.version(text, &length))
		return 0;
	return sscanf(text, "Open MPI v4.%d.%d", &minor, &release) == 2 && (minor == 0 || (minor == 1 && release < 6));
}

/* of_cm reports whether the function is pml/cm's. */
static int of_cm(prepare *function)
{
	Dl_info in;

	return function && dladdr((void *)function, &in) && in.dli_fname && strstr(in.dli_fname, "mca_pml_cm");
}

static int found(void **to, void *library, const char *name) { return (*to = dlsym(library, name)) != NULL; }

void pm_mend_openmpi(void)
{
	void *library = mpi.isend_init ? NULL : dlopen("libmpi.so.40", RTLD_LAZY | RTLD_NOLOAD);
	struct pml *pml;

	if (!library)
		return; /* done already, or another MPI */
	if (found((void **)&pml, library, "mca_pml") && of_cm(pml->isend_init) &&
	    found((void **)&mpi.version, library, "PMPI_Get_library_version") && affected() &&
	    found((void **)&mpi.type_size, library, "PMPI_Type_size") &&
	    found((void **)&mpi.type_true_extent, library, "PMPI_Type_get_true_extent") &&
	    found((void **)&mpi.type_hindexed, library, "PMPI_Type_create_hindexed") &&
	    found((void **)&mpi.type_commit, library, "PMPI_Type_commit") &&
	    found((void **)&mpi.type_free, library, "PMPI_Type_free")) {
		mpi.isend_init = pml->isend_init;
		pml->isend_init = isend_init;
	}
	dlclose(library);
}
