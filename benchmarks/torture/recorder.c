/* Records what a process does to the files below one folder, and kills it before a chosen operation.
 *
 * Preloaded into a process (LD_PRELOAD). RECORDER_ROOT is the folder; files whose name ends in -shm are left out: SQLite
 * rebuilds its shared memory. RECORDER_LOG gets one record per operation: a line "operation inode offset length path",
 * then so many bytes. RECORDER_MARKS is a file whose writes are recorded too, as marks in the sequence.
 * recorder_kill_at(n) kills the process before its n-th operation from now on; recorder_count() counts operations.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#define FILES 4096

static char *names[FILES]; /* of open files that are recorded */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long counted = 0, kill_at = 0;
static int log_file = -1;

#define REAL(result, name, ...)                                                  \
  static result (*real)(__VA_ARGS__) = NULL;                                     \
  if (!real) real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

void recorder_kill_at(long n) { counted = 0; kill_at = n; }
long recorder_count(void) { return counted; }

static int is_marks(const char *path) {
  const char *marks = getenv("RECORDER_MARKS");
  return marks && !strcmp(path, marks);
}

/* The absolute name of a file that is recorded, or NULL. */
static char *recorded(const char *path) {
  const char *root = getenv("RECORDER_ROOT");
  char full[PATH_MAX];
  if (!root || !path) return NULL;
  if (path[0] == '/') snprintf(full, sizeof full, "%s", path);
  else {
    char here[PATH_MAX];
    if (!getcwd(here, sizeof here)) return NULL;
    snprintf(full, sizeof full, "%s/%s", here, path);
  }
  size_t length = strlen(full), suffix = strlen("-shm");
  if (length > suffix && !strcmp(full + length - suffix, "-shm")) return NULL;
  size_t r = strlen(root);
  if (is_marks(full)) return strdup(full);
  if (strncmp(full, root, r) || (full[r] != '/' && full[r] != 0)) return NULL;
  return strdup(full);
}

/* Called with the lock held, before an operation takes place. */
static void count(void) {
  counted++;
  if (kill_at && counted == kill_at) kill(getpid(), SIGKILL);
}

static ssize_t raw_write(int fd, const void *data, size_t length) {
  REAL(ssize_t, "write", int, const void *, size_t);
  return real(fd, data, length);
}

static int raw_open(const char *path, int flags, mode_t mode) {
  REAL(int, "open", const char *, int, ...);
  return real(path, flags, mode);
}

/* Called with the lock held, after an operation took place. */
static void note(const char *operation, ino_t inode, off_t offset, size_t length, const char *path, const void *data) {
  const char *target = getenv("RECORDER_LOG");
  if (!target) return;
  if (log_file < 0) log_file = raw_open(target, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  char line[PATH_MAX + 100];
  int n = snprintf(line, sizeof line, "%s\t%lu\t%ld\t%zu\t%s\n", operation, (unsigned long)inode, (long)offset, length,
                   path ? path : "");
  raw_write(log_file, line, n);
  if (data && length) raw_write(log_file, data, length);
}

static ino_t inode_of(int fd) {
  struct stat found;
  return fstat(fd, &found) ? 0 : found.st_ino;
}

static int record_open(const char *path, int flags, int fd, int existed) {
  char *name = recorded(path);
  if (fd < 0 || fd >= FILES || !name) { free(name); return fd; }
  int saved = errno;
  free(names[fd]);
  names[fd] = name;
  if (!is_marks(name)) {
    if (!existed) note("create", inode_of(fd), 0, 0, name, NULL);
    else if (flags & O_TRUNC) note("truncate", inode_of(fd), 0, 0, name, NULL);
  }
  errno = saved;
  return fd;
}

#define OPEN(name)                                                               \
  int name(const char *path, int flags, ...) {                                   \
    REAL(int, #name, const char *, int, ...);                                    \
    mode_t mode = 0;                                                             \
    if (flags & (O_CREAT | O_TMPFILE)) {                                         \
      va_list more; va_start(more, flags); mode = va_arg(more, mode_t); va_end(more); \
    }                                                                            \
    char *name_ = recorded(path);                                                \
    if (!name_) return real(path, flags, mode);                                  \
    free(name_);                                                                 \
    pthread_mutex_lock(&lock);                                                   \
    int existed = !(flags & O_CREAT) || !access(path, F_OK);                     \
    if (!existed || (flags & O_TRUNC)) count();                                  \
    int fd = record_open(path, flags, real(path, flags, mode), existed);         \
    pthread_mutex_unlock(&lock);                                                 \
    return fd;                                                                   \
  }
OPEN(open)
OPEN(open64)

int close(int fd) {
  REAL(int, "close", int);
  if (fd >= 0 && fd < FILES && names[fd]) { free(names[fd]); names[fd] = NULL; }
  return real(fd);
}

static int watched(int fd) { return fd >= 0 && fd < FILES && names[fd] != NULL; }

ssize_t write(int fd, const void *data, size_t length) {
  if (!watched(fd)) return raw_write(fd, data, length);
  pthread_mutex_lock(&lock);
  int marks = is_marks(names[fd]);
  off_t offset = lseek(fd, 0, SEEK_CUR);
  if (!marks) count();
  ssize_t done = raw_write(fd, data, length);
  int saved = errno;
  if (done > 0) note(marks ? "mark" : "write", inode_of(fd), offset, done, NULL, data);
  pthread_mutex_unlock(&lock);
  errno = saved;
  return done;
}

#define PWRITE(name)                                                             \
  ssize_t name(int fd, const void *data, size_t length, off_t offset) {          \
    REAL(ssize_t, #name, int, const void *, size_t, off_t);                      \
    if (!watched(fd)) return real(fd, data, length, offset);                     \
    pthread_mutex_lock(&lock);                                                   \
    count();                                                                     \
    ssize_t done = real(fd, data, length, offset);                               \
    int saved = errno;                                                           \
    if (done > 0) note("write", inode_of(fd), offset, done, NULL, data);         \
    pthread_mutex_unlock(&lock);                                                 \
    errno = saved;                                                               \
    return done;                                                                 \
  }
PWRITE(pwrite)
PWRITE(pwrite64)

#define TRUNCATE(name)                                                           \
  int name(int fd, off_t length) {                                               \
    REAL(int, #name, int, off_t);                                                \
    if (!watched(fd)) return real(fd, length);                                   \
    pthread_mutex_lock(&lock);                                                   \
    count();                                                                     \
    int done = real(fd, length);                                                 \
    int saved = errno;                                                           \
    if (!done) note("truncate", inode_of(fd), length, 0, NULL, NULL);            \
    pthread_mutex_unlock(&lock);                                                 \
    errno = saved;                                                               \
    return done;                                                                 \
  }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

#define SYNC(name)                                                               \
  int name(int fd) {                                                             \
    REAL(int, #name, int);                                                       \
    if (!watched(fd)) return real(fd);                                           \
    pthread_mutex_lock(&lock);                                                   \
    count();                                                                     \
    note("sync", inode_of(fd), 0, 0, names[fd], NULL);                           \
    pthread_mutex_unlock(&lock);                                                 \
    return 0; /* the recorded sequence says what would be on disk; waiting for it would only take time */ \
  }
SYNC(fsync)
SYNC(fdatasync)

#define ON_NAME(name, operation)                                                 \
  int name(const char *path) {                                                   \
    REAL(int, #name, const char *);                                              \
    char *full = recorded(path);                                                 \
    if (!full) return real(path);                                                \
    pthread_mutex_lock(&lock);                                                   \
    count();                                                                     \
    int done = real(path);                                                       \
    int saved = errno;                                                           \
    if (!done) note(operation, 0, 0, 0, full, NULL);                             \
    pthread_mutex_unlock(&lock);                                                 \
    free(full);                                                                  \
    errno = saved;                                                               \
    return done;                                                                 \
  }
ON_NAME(unlink, "unlink")
ON_NAME(rmdir, "unlink")

int mkdir(const char *path, mode_t mode) {
  REAL(int, "mkdir", const char *, mode_t);
  char *full = recorded(path);
  if (!full) return real(path, mode);
  pthread_mutex_lock(&lock);
  count();
  int done = real(path, mode);
  int saved = errno;
  struct stat found;
  if (!done && !stat(path, &found)) note("mkdir", found.st_ino, 0, 0, full, NULL);
  pthread_mutex_unlock(&lock);
  free(full);
  errno = saved;
  return done;
}

#define ON_TWO_NAMES(name)                                                       \
  int name(const char *old, const char *new) {                                   \
    REAL(int, #name, const char *, const char *);                                \
    char *from = recorded(old), *to = recorded(new);                             \
    if (!from || !to) { free(from); free(to); return real(old, new); }           \
    pthread_mutex_lock(&lock);                                                   \
    count();                                                                     \
    int done = real(old, new);                                                   \
    int saved = errno;                                                           \
    if (!done) note(#name, 0, 0, strlen(to), from, to);                          \
    pthread_mutex_unlock(&lock);                                                 \
    free(from); free(to);                                                        \
    errno = saved;                                                               \
    return done;                                                                 \
  }
ON_TWO_NAMES(rename)
ON_TWO_NAMES(link)
