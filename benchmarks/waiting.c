/* Minimal long-poll server: the yardstick of waiting.py.

   Holds every request until one arrives that starts with "POST". It responds to that
   one, and then to all held requests in the order of their arrival. The argument is the
   length of the response to a held request, in bytes. */

#define _GNU_SOURCE

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 1 << 16, BATCH = 512 };

static int held[MOST];
static int count;

static int listen_on_any_port(void)
{
    struct sockaddr_in where = { .sin_family = AF_INET };
    socklen_t size = sizeof where;
    int listening = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listening, (struct sockaddr *)&where, size) || listen(listening, 4096))
        exit(1);
    getsockname(listening, (struct sockaddr *)&where, &size);
    printf("%d\n", ntohs(where.sin_port));
    fflush(stdout);
    return listening;
}

static void watch(int watched, int file)
{
    struct epoll_event event = { .events = EPOLLIN, .data.fd = file };

    epoll_ctl(watched, EPOLL_CTL_ADD, file, &event);
}

static void take(int watched, int listening)
{
    int file;

    while ((file = accept4(listening, NULL, NULL, SOCK_NONBLOCK)) >= 0)
        watch(watched, file);
}

static void answer(int file, const char *text, size_t length)
{
    if (write(file, text, length) != (ssize_t)length)
        exit(1);
}

static void hear(int file, const char *text, size_t length)
{
    char request[4096];
    ssize_t got = read(file, request, sizeof request);

    if (got <= 0) {
        close(file);
    } else if (memcmp(request, "POST", 4) != 0) {
        held[count++ % MOST] = file;
    } else {
        answer(file, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 38);
        for (int i = 0; i < count; i++)
            answer(held[i], text, length);
        count = 0;
    }
}

int main(int argc, char **argv)
{
    size_t length = argc > 1 ? strtoul(argv[1], NULL, 10) : 512;
    char *text = malloc(length);
    struct epoll_event events[BATCH];
    struct rlimit files;
    int listening, watched = epoll_create1(0);

    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    memset(text, 'x', length);
    listening = listen_on_any_port();
    watch(watched, listening);
    for (;;) {
        int ready = epoll_wait(watched, events, BATCH, -1);

        for (int i = 0; i < ready; i++)
            if (events[i].data.fd == listening)
                take(watched, listening);
            else
                hear(events[i].data.fd, text, length);
    }
}
