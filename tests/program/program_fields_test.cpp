// The lists of fields in program_fields.h are whole: each member of each table is in its list, each
// listed field changes the digest, and each comes back from the program's text.
#include "core/program/program_fields.h"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <utility>

#include "core/program/program_text.h"
#include "tests/support/programs.h"

namespace trainyard {
namespace {

using testing::pipeline;

/// Stands for a value of any type, so that a struct can be initialised without naming its members.
struct AnyValue {
  template <class T>
  operator T() const;  // NOLINT: the conversion is the point
};

/// How many members an aggregate has: the longest list of values that it can be initialised with.
template <class T, class... Values>
constexpr std::size_t members() {
  if constexpr (requires { T{std::declval<Values>()..., AnyValue{}}; })
    return members<T, Values..., AnyValue>();
  else
    return sizeof...(Values);
}

struct CountFields {
  std::size_t count = 0;
  template <class T>
  void operator()(std::string_view, T&) {
    ++count;
  }
};

template <class T>
std::size_t listed() {
  T entry{};
  CountFields counter;
  fields(counter, entry);
  return counter.count;
}

TEST(ProgramFields, EveryMemberIsListedOrASliceOfAnotherTable) {
  EXPECT_EQ(listed<Buffer>() + 2, members<Buffer>());  // first_part, parts
  EXPECT_EQ(listed<BufferPart>(), members<BufferPart>());
  // first_work, works, first_effect, effects; `ops` and `every` are in the text
  // alone.
  EXPECT_EQ(listed<Task>() + 6, members<Task>());
  // `work` is many, and `before` and `place` are in the text alone.
  EXPECT_EQ(listed<WorkCount>() + 3, members<WorkCount>() + members<Work>());
  EXPECT_EQ(listed<MemoryEffect>(), members<MemoryEffect>());
  EXPECT_EQ(listed<Stream>() + 2, members<Stream>());            // first, count
  EXPECT_EQ(listed<Instruction>() + 2, members<Instruction>());  // first_after, afters
  // streams, instructions, tasks, after, works, buffers, parts, effects, names
  EXPECT_EQ(listed<Program>() + 9, members<Program>());
}

/// Changes the field of that number to another value that its type can have, and notes its key.
class ChangeOne {
 public:
  ChangeOne(std::size_t which, Names& names) : which_(which), names_(names) {}

  template <class T>
  void operator()(std::string_view key, T& value) {
    if (seen_++ != which_) return;
    key_ = key;
    if constexpr (std::is_same_v<T, bool>)
      value = !value;
    else if constexpr (std::is_same_v<T, NameId>)
      value = names_.intern("another name");
    else if constexpr (std::is_same_v<T, std::string>)
      value += "!";
    else if constexpr (std::is_enum_v<T>)
      value = static_cast<T>(static_cast<int>(value) == 0 ? 1 : 0);
    else if constexpr (std::is_same_v<T, Duration>)
      value += Duration(1);
    else if constexpr (std::is_arithmetic_v<T>)
      value = static_cast<T>(value + 1);
    else
      value.value = static_cast<decltype(value.value)>(value.value + 1);
  }
  const std::string& key() const { return key_; }

 private:
  std::size_t which_, seen_ = 0;
  Names& names_;
  std::string key_;
};

/// A program with an entry in every table.
Program full() {
  Program program = pipeline();
  program.works.push_back({});
  program.tasks[0].first_work = 0, program.tasks[0].works = 1;
  program.parts.push_back({program.names.intern("part"), Bytes{7}});
  program.buffers[0].first_part = 0, program.buffers[0].parts = 1;
  return program;
}

/// Changes each field of `entry(program)`, one in each copy of the program.
template <class T, class Entry>
void expect_each_field_seen(Entry entry) {
  const Program program = full();
  for (std::size_t i = 0; i < listed<T>(); ++i) {
    Program changed = program;
    ChangeOne change(i, changed.names);
    fields(change, entry(changed));
    EXPECT_NE(digest(changed), digest(program)) << change.key();
    EXPECT_EQ(to_text(parse_program(to_text(changed))), to_text(changed)) << change.key();
    EXPECT_NE(to_text(changed), to_text(program)) << change.key();
  }
}

TEST(Digest, SeesEveryFieldAndSoDoesTheText) {
  expect_each_field_seen<Program>([](Program& p) -> Program& { return p; });
  expect_each_field_seen<Buffer>([](Program& p) -> Buffer& { return p.buffers[0]; });
  expect_each_field_seen<BufferPart>([](Program& p) -> BufferPart& { return p.parts[0]; });
  expect_each_field_seen<Task>([](Program& p) -> Task& { return p.tasks[0]; });
  expect_each_field_seen<WorkCount>([](Program& p) -> WorkCount& { return p.works[0]; });
  expect_each_field_seen<MemoryEffect>([](Program& p) -> MemoryEffect& { return p.effects[2]; });
  expect_each_field_seen<Stream>([](Program& p) -> Stream& { return p.streams[1]; });
  expect_each_field_seen<Instruction>([](Program& p) -> Instruction& { return p.instructions[5]; });
}

// Documents of programs that say nothing of neighbours keep their digest.
TEST(Digest, LeavesOutWhatRanBeforeAndTheTextHasIt) {
  const Program program = full();
  Program changed = program;
  changed.works[0].work.before = Bytes{4096};
  EXPECT_EQ(digest(changed), digest(program));
  EXPECT_NE(to_text(changed), to_text(program));
  EXPECT_EQ(parse_program(to_text(changed)).works, changed.works);
}

TEST(Digest, SeesTheSlicesAndNotWhereTheyLie) {
  const Program program = full();
  const std::uint64_t before = digest(program);
  EXPECT_EQ(digest(full()), before);
  const auto changes = [&](auto change) {
    Program changed = program;
    change(changed);
    return digest(changed) != before;
  };
  EXPECT_TRUE(changes([](Program& p) { std::swap(p.streams[0].name, p.streams[1].name); }));
  EXPECT_TRUE(changes([](Program& p) { p.works.push_back({}), p.tasks[0].works = 2; }));
  EXPECT_TRUE(changes([](Program& p) { p.parts.push_back({}), p.buffers[0].parts = 2; }));
  EXPECT_TRUE(changes([](Program& p) { std::swap(p.after[0], p.after[1]); }));
  EXPECT_FALSE(changes([](Program& p) { p.works.push_back({}); }));  // no task has it
  EXPECT_FALSE(changes([](Program& p) {
    p.works.insert(p.works.begin(), WorkCount{});
    p.tasks[0].first_work = 1;
  }));
}

}  // namespace
}  // namespace trainyard
