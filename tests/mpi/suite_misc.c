/* Communicators, groups, attributes, hints, errors and types: what MPI has beside moving data. */
#include <stddef.h>
#include <unistd.h>

#include "suite.h"

static void split_by_key(void) {
  MPI_Comm comm;
  int me, n, world;
  MPI_Comm_split(MPI_COMM_WORLD, 1, -rank, &comm); /* all, backwards */
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &n);
  CHECK(n == size && me == size - 1 - rank);
  world = rank;
  MPI_Bcast(&world, 1, MPI_INT, 0, comm);
  CHECK(world == size - 1);
  MPI_Comm_free(&comm);
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : rank % 2, 0, &comm);
  CHECK((comm == MPI_COMM_NULL) == (rank == 0));
  if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
}

/* Ranks of a node find each other. */
static void split_by_node(void) {
  MPI_Comm node;
  int me, n, length, *all;
  char name[MPI_MAX_PROCESSOR_NAME] = "", *names;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &me);
  MPI_Comm_size(node, &n);
  MPI_Get_processor_name(name, &length);
  CHECK(length > 0 && (int)strlen(name) == length);
  names = calloc((size_t)n, sizeof name);
  all = ints(n);
  MPI_Allgather(name, sizeof name, MPI_CHAR, names, sizeof name, MPI_CHAR, node);
  MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, node);
  for (int i = 0; i < n; ++i) CHECK(!strcmp(names + (size_t)i * sizeof name, name));
  for (int i = 1; i < n; ++i) CHECK(all[i] > all[i - 1]);
  CHECK(all[me] == rank);
  free(names), free(all);
  MPI_Comm_free(&node);
}

static void groups(void) {
  MPI_Group all, low, high, both, some, rest;
  int range[1][3] = {{0, size / 2, 1}}, last[1][3] = {{size / 2, size - 1, 1}}, n, result, places[2] = {0, 1},
      out[2];
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_range_incl(all, 1, range, &low);
  MPI_Group_range_incl(all, 1, last, &high);
  MPI_Group_union(low, high, &both);
  MPI_Group_compare(all, both, &result);
  CHECK(result == MPI_IDENT);
  MPI_Group_intersection(low, high, &some);
  MPI_Group_size(some, &n);
  CHECK(n == 1);
  MPI_Group_difference(all, low, &rest);
  MPI_Group_size(rest, &n);
  CHECK(n == size - size / 2 - 1);
  MPI_Group_translate_ranks(high, 2, places, all, out);
  CHECK(out[0] == size / 2 && out[1] == size / 2 + 1);
  MPI_Group_translate_ranks(high, 2, places, low, out);
  CHECK(out[0] == size / 2 && out[1] == MPI_UNDEFINED);
  MPI_Group_free(&all), MPI_Group_free(&low), MPI_Group_free(&high), MPI_Group_free(&both);
  MPI_Group_free(&some), MPI_Group_free(&rest);
}

/* Communicators out of groups: told by all, and by the members alone. */
static void out_of_groups(void) {
  MPI_Group all, odd;
  MPI_Comm by_all, by_members = MPI_COMM_NULL;
  int range[1][3] = {{1, size - 1, 2}}, sum, expected = 0, result;
  for (int r = 1; r < size; r += 2) expected += r;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_range_incl(all, 1, range, &odd);
  MPI_Comm_create(MPI_COMM_WORLD, odd, &by_all);
  CHECK((by_all == MPI_COMM_NULL) == (rank % 2 == 0));
  if (rank % 2) {
    MPI_Comm_create_group(MPI_COMM_WORLD, odd, 5, &by_members);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, by_members);
    CHECK(sum == expected);
    MPI_Comm_compare(by_all, by_members, &result);
    CHECK(result == MPI_CONGRUENT);
    MPI_Comm_free(&by_all), MPI_Comm_free(&by_members);
  }
  MPI_Group_free(&all), MPI_Group_free(&odd);
}

static void copies(void) {
  MPI_Comm copy, later;
  MPI_Request request;
  int result, value = rank, got = -1;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_compare(copy, MPI_COMM_WORLD, &result);
  CHECK(result == MPI_CONGRUENT);
  MPI_Comm_idup(copy, &later, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  /* A message in one is not seen in the other. */
  int to = (rank + 1) % size, from = (rank + size - 1) % size, seen = 1;
  MPI_Request requests[2];
  MPI_Isend(&value, 1, MPI_INT, to, 0, copy, &requests[0]);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, later, &seen, MPI_STATUS_IGNORE);
  CHECK(!seen);
  MPI_Irecv(&got, 1, MPI_INT, from, 0, copy, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK(got == from);
  MPI_Comm_free(&copy), MPI_Comm_free(&later);
}

static void merged(void) {
  MPI_Comm half, both, one;
  int inter, me, first = rank;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &both);
  MPI_Comm_test_inter(both, &inter);
  CHECK(inter);
  MPI_Intercomm_merge(both, rank % 2 == 0, &one); /* the odd ranks first */
  MPI_Comm_test_inter(one, &inter);
  MPI_Comm_rank(one, &me);
  CHECK(!inter && me == (rank % 2 ? rank / 2 : size / 2 + rank / 2));
  MPI_Bcast(&first, 1, MPI_INT, 0, one);
  CHECK(first == 1);
  MPI_Comm_free(&half), MPI_Comm_free(&both), MPI_Comm_free(&one);
}

static int copied, deleted;

static int copy_value(MPI_Comm comm, int key, void* state, void* in, void* out, int* flag) {
  (void)comm, (void)key, (void)state;
  ++copied;
  *(void**)out = (char*)in + 1;
  *flag = 1;
  return MPI_SUCCESS;
}

static int delete_value(MPI_Comm comm, int key, void* value, void* state) {
  (void)comm, (void)key, (void)value, (void)state;
  ++deleted;
  return MPI_SUCCESS;
}

static void attributes(void) {
  int key, flag;
  char text[2], *got;
  MPI_Comm first, second;
  copied = deleted = 0;
  MPI_Comm_create_keyval(copy_value, delete_value, &key, NULL);
  MPI_Comm_dup(MPI_COMM_WORLD, &first);
  MPI_Comm_get_attr(first, key, &got, &flag);
  CHECK(!flag);
  MPI_Comm_set_attr(first, key, text);
  MPI_Comm_dup(first, &second);
  MPI_Comm_get_attr(second, key, &got, &flag);
  CHECK(flag && got == text + 1 && copied == 1 && deleted == 0);
  MPI_Comm_delete_attr(first, key);
  CHECK(deleted == 1);
  MPI_Comm_free(&second);
  CHECK(deleted == 2);
  MPI_Comm_free(&first);
  MPI_Comm_free_keyval(&key);
  int* most;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &flag);
  CHECK(flag && *most >= 32767);
}

static void hints(void) {
  MPI_Info info, copy;
  int n, flag, length;
  char value[32], name[MPI_MAX_INFO_KEY];
  MPI_Info_create(&info);
  MPI_Info_set(info, "one", "1");
  MPI_Info_set(info, "two", "22");
  MPI_Info_set(info, "one", "first");
  MPI_Info_get_nkeys(info, &n);
  CHECK(n == 2);
  MPI_Info_get(info, "one", 31, value, &flag);
  CHECK(flag && !strcmp(value, "first"));
  MPI_Info_get_valuelen(info, "two", &length, &flag);
  CHECK(flag && length == 2);
  MPI_Info_dup(info, &copy);
  MPI_Info_delete(info, "one");
  MPI_Info_get(info, "one", 31, value, &flag);
  CHECK(!flag);
  MPI_Info_get(copy, "one", 31, value, &flag);
  CHECK(flag);
  MPI_Info_get_nthkey(info, 0, name);
  CHECK(!strcmp(name, "two"));
  MPI_Info_free(&info), MPI_Info_free(&copy);
}

static int handled, last_class;

static void handler(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  ++handled;
  MPI_Error_class(*code, &last_class);
}

static void errors(void) {
  MPI_Comm comm;
  MPI_Errhandler ours, before;
  int value = 0, ours_class, code, length, kind;
  char text[MPI_MAX_ERROR_STRING];
  handled = 0;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_create_errhandler(handler, &ours);
  MPI_Comm_set_errhandler(comm, ours);
  MPI_Comm_get_errhandler(comm, &before);
  CHECK(before == ours);
  MPI_Send(&value, 1, MPI_INT, size + 3, 0, comm);
  CHECK(handled == 1 && last_class == MPI_ERR_RANK);
  MPI_Send(&value, -1, MPI_INT, 0, 0, comm);
  CHECK(handled == 2 && last_class == MPI_ERR_COUNT);
  MPI_Send(&value, 1, MPI_INT, 0, -5, comm);
  CHECK(handled == 3 && last_class == MPI_ERR_TAG);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  CHECK(MPI_Bcast(&value, 1, MPI_INT, size, comm) != MPI_SUCCESS && handled == 3);
  MPI_Add_error_class(&ours_class);
  MPI_Add_error_code(ours_class, &code);
  MPI_Add_error_string(code, "ours alone");
  MPI_Error_string(code, text, &length);
  MPI_Error_class(code, &kind);
  CHECK(!strcmp(text, "ours alone") && kind == ours_class);
  MPI_Comm_set_errhandler(comm, ours);
  MPI_Comm_call_errhandler(comm, code);
  CHECK(handled == 4 && last_class == ours_class);
  MPI_Errhandler_free(&ours), MPI_Errhandler_free(&before);
  MPI_Comm_free(&comm);
}

/* A type is told back as it was made. */
static void types_told_back(void) {
  MPI_Datatype type, inner, parts[4];
  int counts[8], integers, addresses, types, kind;
  MPI_Aint places[4], low, extent;
  MPI_Type_vector(5, 2, 7, MPI_DOUBLE, &type);
  MPI_Type_get_envelope(type, &integers, &addresses, &types, &kind);
  CHECK(integers == 3 && addresses == 0 && types == 1 && kind == MPI_COMBINER_VECTOR);
  MPI_Type_get_contents(type, integers, addresses, types, counts, places, parts);
  CHECK(counts[0] == 5 && counts[1] == 2 && counts[2] == 7 && parts[0] == MPI_DOUBLE);
  MPI_Type_get_extent(type, &low, &extent);
  CHECK(low == 0 && extent == (4 * 7 + 2) * (MPI_Aint)sizeof(double));
  MPI_Type_size(type, &integers);
  CHECK(integers == 10 * (int)sizeof(double));
  MPI_Type_create_resized(type, -8, 400, &inner);
  MPI_Type_get_extent(inner, &low, &extent);
  CHECK(low == -8 && extent == 400);
  MPI_Type_get_true_extent(inner, &low, &extent);
  CHECK(low == 0 && extent == (4 * 7 + 2) * (MPI_Aint)sizeof(double));
  MPI_Type_free(&type), MPI_Type_free(&inner);
}

struct Record {
  char letter;
  double number;
  int list[3];
};

static MPI_Datatype record_type(void) {
  int lengths[3] = {1, 1, 3};
  MPI_Aint places[3] = {offsetof(struct Record, letter), offsetof(struct Record, number),
                        offsetof(struct Record, list)};
  MPI_Datatype kinds[3] = {MPI_CHAR, MPI_DOUBLE, MPI_INT}, bare, type;
  MPI_Type_create_struct(3, lengths, places, kinds, &bare);
  MPI_Type_create_resized(bare, 0, sizeof(struct Record), &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&bare);
  return type;
}

/* Records, blocks of arrays and the upper half of a matrix travel round the ring. */
static void types_sent(void) {
  enum { N = 30 };
  struct Record out[N], in[N];
  int to = (rank + 1) % size, from = (rank + size - 1) % size, elements;
  MPI_Status status;
  MPI_Datatype type = record_type();
  memset(out, 0, sizeof out), memset(in, 0, sizeof in);
  for (int i = 0; i < N; ++i) {
    out[i].letter = (char)('a' + i % 26), out[i].number = rank + i / 4.0;
    for (int k = 0; k < 3; ++k) out[i].list[k] = pattern(rank, k, 1, i);
  }
  MPI_Sendrecv(out, N, type, to, 0, in, N, type, from, 0, MPI_COMM_WORLD, &status);
  MPI_Get_elements(&status, type, &elements);
  CHECK(elements == 5 * N);
  for (int i = 0; i < N; ++i) {
    CHECK(in[i].letter == out[i].letter && in[i].number == from + i / 4.0);
    for (int k = 0; k < 3; ++k) CHECK(in[i].list[k] == pattern(from, k, 1, i));
  }
  MPI_Type_free(&type);
  static int matrix[N][N], got[N][N];
  int lengths[N], places[N];
  for (int i = 0; i < N; ++i) {
    lengths[i] = N - i, places[i] = i * N + i;
    for (int k = 0; k < N; ++k) matrix[i][k] = pattern(rank, i, 2, k), got[i][k] = -1;
  }
  MPI_Type_indexed(N, lengths, places, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Sendrecv(matrix, 1, type, to, 1, got, 1, type, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < N; ++i)
    for (int k = 0; k < N; ++k) CHECK(got[i][k] == (k >= i ? pattern(from, i, 2, k) : -1));
  MPI_Type_free(&type);
}

static void packed(void) {
  char buffer[400], external[400];
  int place = 0, numbers[5], bytes, to = (rank + 1) % size, from = (rank + size - 1) % size;
  double real = rank + 0.5;
  for (int i = 0; i < 5; ++i) numbers[i] = pattern(rank, 3, 3, i);
  MPI_Pack_size(5, MPI_INT, MPI_COMM_WORLD, &bytes);
  CHECK(bytes >= 20 && bytes <= 100);
  MPI_Pack(numbers, 5, MPI_INT, buffer, sizeof buffer, &place, MPI_COMM_WORLD);
  MPI_Pack(&real, 1, MPI_DOUBLE, buffer, sizeof buffer, &place, MPI_COMM_WORLD);
  MPI_Sendrecv_replace(buffer, sizeof buffer, MPI_PACKED, to, 0, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  place = 0;
  MPI_Unpack(buffer, sizeof buffer, &place, numbers, 5, MPI_INT, MPI_COMM_WORLD);
  MPI_Unpack(buffer, sizeof buffer, &place, &real, 1, MPI_DOUBLE, MPI_COMM_WORLD);
  CHECK(holds(numbers, 5, from, 3, 3) && real == from + 0.5);
  MPI_Aint at = 0, all = 0;
  MPI_Pack_external_size("external32", 5, MPI_INT, &all);
  CHECK(all == 20);
  MPI_Pack_external("external32", numbers, 5, MPI_INT, external, sizeof external, &at);
  CHECK(at == 20 && (unsigned char)external[3] == (numbers[0] & 0xff)); /* the last byte is the lowest */
  at = 0;
  memset(numbers, 0, sizeof numbers);
  MPI_Unpack_external("external32", external, sizeof external, &at, numbers, 5, MPI_INT);
  CHECK(holds(numbers, 5, from, 3, 3));
}

static void time_and_place(void) {
  int version, part, length, flag, *global;
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  double begun = MPI_Wtime();
  usleep(1500);
  double took = MPI_Wtime() - begun;
  CHECK(took >= 1500e-6 && took < 1520e-6);
  CHECK(MPI_Wtick() > 0 && MPI_Wtick() <= 1e-6);
  MPI_Get_version(&version, &part);
  CHECK(version >= 3);
  MPI_Get_library_version(text, &length);
  CHECK(length > 0 && strlen(text) > 0 && length <= MPI_MAX_LIBRARY_VERSION_STRING);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &global, &flag);
  int started = 0, over = 1;
  MPI_Initialized(&started), MPI_Finalized(&over);
  CHECK(started && !over);
}

static void memory_and_names(void) {
  int *memory, length;
  char name[MPI_MAX_OBJECT_NAME];
  MPI_Comm parent, copy;
  CHECK(MPI_Alloc_mem(5000 * sizeof(int), MPI_INFO_NULL, &memory) == MPI_SUCCESS);
  for (int i = 0; i < 5000; ++i) memory[i] = pattern(rank, 4, 4, i);
  MPI_Sendrecv_replace(memory, 5000, MPI_INT, (rank + 1) % size, 0, (rank + size - 1) % size, 0,
                       MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(holds(memory, 5000, (rank + size - 1) % size, 4, 4));
  MPI_Free_mem(memory);
  MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
  CHECK(!strcmp(name, "MPI_COMM_WORLD"));
  MPI_Comm_dup(MPI_COMM_SELF, &copy);
  MPI_Comm_set_name(copy, "mine");
  MPI_Comm_get_name(copy, name, &length);
  CHECK(!strcmp(name, "mine") && length == 4);
  MPI_Comm_free(&copy);
  MPI_Comm_get_parent(&parent);
  CHECK(parent == MPI_COMM_NULL);
}

int main(int argc, char** argv) {
  static const struct Case cases[] = {{"split_by_key", split_by_key},
                                      {"split_by_node", split_by_node},
                                      {"groups", groups},
                                      {"out_of_groups", out_of_groups},
                                      {"copies", copies},
                                      {"merged", merged},
                                      {"attributes", attributes},
                                      {"hints", hints},
                                      {"errors", errors},
                                      {"types_told_back", types_told_back},
                                      {"types_sent", types_sent},
                                      {"packed", packed},
                                      {"time_and_place", time_and_place},
                                      {"memory_and_names", memory_and_names}};
  return suite(argc, argv, MPI_THREAD_SINGLE, "suite_misc", cases, COUNT_OF(cases));
}
