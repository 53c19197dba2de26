/* Says how late the timers of each thread may be, in nanoseconds, once Go runs in the process. */
#include <dirent.h>
#include <score/pm.h>
#include <stdio.h>

int main(void)
{
	struct dirent *thread;
	DIR *threads;

	score_pm_open(1); /* it waits for Go's runtime, and fails: this is no rank */
	threads = opendir("/proc/self/task");
	while (threads && (thread = readdir(threads))) {
		char path[64], slack[32];
		FILE *f;

		snprintf(path, sizeof path, "/proc/%.20s/timerslack_ns", thread->d_name);
		f = thread->d_name[0] == '.' ? NULL : fopen(path, "r");
		if (f && fgets(slack, sizeof slack, f))
			printf("%s", slack);
		if (f)
			fclose(f);
	}
	return 0;
}
