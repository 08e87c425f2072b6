// A stand-in for ib_write_bw where there is no RDMA: server and client meet over TCP, wait for a set time, and print
// perftest's layout with a set figure. Nothing is measured, and the first line says so.
//   standin_bw -p PORT -t MILLISECONDS -v GBPS [ADDRESS]
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *line =
    "---------------------------------------------------------------------------------------";

static void fail(const char *first, const char *second) {
  fprintf(stderr, "%s\n%s\n", first, second);
  exit(1);
}

static int serve(struct sockaddr_in *address) {
  int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  address->sin_addr.s_addr = INADDR_ANY;
  if (bind(listener, (struct sockaddr *)address, sizeof *address) || listen(listener, 1))
    fail("Unable to open file descriptor for socket connection", " Unable to init the socket connection");
  int talk = accept(listener, NULL, NULL);
  close(listener);
  return talk;
}

static int call(struct sockaddr_in *address, const char *host) {
  int talk = socket(AF_INET, SOCK_STREAM, 0);
  inet_pton(AF_INET, host, &address->sin_addr);
  if (connect(talk, (struct sockaddr *)address, sizeof *address)) {
    fprintf(stderr, "Couldn't connect to %s:%d\n", host, ntohs(address->sin_port));
    fail("Unable to open file descriptor for socket connection", " Unable to init the socket connection");
  }
  return talk;
}

int main(int count, char **words) {
  struct sockaddr_in address = {.sin_family = AF_INET};
  long milliseconds = 0;
  double gbps = 0;
  const char *host = NULL;
  for (int at = 1; at < count; at++) {
    if (!strcmp(words[at], "-p")) address.sin_port = htons(atoi(words[++at]));
    else if (!strcmp(words[at], "-t")) milliseconds = atol(words[++at]);
    else if (!strcmp(words[at], "-v")) gbps = atof(words[++at]);
    else host = words[at];
  }
  printf("# stand-in for ib_write_bw: no RDMA, a figure that was set\n");
  int talk = host ? call(&address, host) : serve(&address);
  if (talk < 0) fail("Unable to read/write to socket/rdma_cm", " Failed to exchange data between server and clients");
  struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  char byte = 0;
  if (host) {
    nanosleep(&pause, NULL);
    if (write(talk, "x", 1) != 1) fail("Unable to read/write to socket/rdma_cm", "");
  } else if (read(talk, &byte, 1) != 1) {
    fail("Unable to read/write to socket/rdma_cm", " Failed to exchange data between server and clients");
  }
  printf("%s\n                    RDMA_Write BW Test\n", line);
  printf(" Dual-port       : OFF\t\tDevice         : stand-in\n Connection type : RC\t\tUsing SRQ      : OFF\n");
  printf("%s\n #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n", line);
  printf(" %-7d    %-10d       %-7.2lf            %-7.2lf\t\t     %-7.6lf\n", 65536, 1000, 0.0, gbps,
         gbps * 1e9 / 8 / 65536 / 1e6);
  printf("%s\n", line);
  return 0;
}
