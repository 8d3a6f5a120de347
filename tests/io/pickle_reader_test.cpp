#include "core/io/snapshots/pickle_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/base/error.h"
#include "core/io/snapshots/memory_snapshot_import.h"
#include "tests/support/refusal.h"
#include "tests/support/snapshot_pickle.h"
#include "tests/support/trickle.h"

namespace trainyard {
namespace {

using Kind = PickleValue::Kind;

std::string bytes(std::initializer_list<int> list) {
  std::string text;
  for (const int b : list) text += static_cast<char>(b);
  return text;
}

std::string pickle_refusal(const std::string& text) {
  return testing::refusal([&] { parse_pickle(text, "p"); });
}

// pickle.dumps({"a": [1, -2, 2**40, 2.5, None, True, (1, "x")], "b": {}}, 4)
TEST(PickleReader, ReadsWhatPythonWrites) {
  PickleWriter w;
  w.begin_dict();
  w.text("a");
  w.begin_list();
  w.integer(1), w.integer(-2), w.integer(std::int64_t{1} << 40), w.none();
  w.end_list();
  w.text("b");
  w.empty_list();
  w.end_dict();
  const Pickle p = parse_pickle(std::move(w).done(), "p");
  const auto items = p.items(*p.find(p.root, "a"));
  ASSERT_EQ(items.size(), 4u);
  EXPECT_EQ(items[1].integer, -2);
  EXPECT_EQ(items[2].integer, std::int64_t{1} << 40);
  EXPECT_EQ(items[3].kind, Kind::None);
  EXPECT_TRUE(p.items(*p.find(p.root, "b")).empty());
  EXPECT_EQ(p.find(p.root, "c"), nullptr);
}

TEST(PickleReader, ReadsEveryOpcodeOfData) {
  // Protocol 0: (lp0 I1 aF2.5 aL7L aVx aS'y' aI01 a(I1 I2 t a.
  const Pickle old = parse_pickle("(lp0\nI1\naF2.5\naL7L\naVx\naS'y'\naI01\na(I1\nI2\nta.", "p");
  const auto items = old.items(old.root);
  ASSERT_EQ(items.size(), 7u);
  EXPECT_EQ(items[0].integer, 1);
  EXPECT_EQ(items[1].real, 2.5);
  EXPECT_EQ(items[2].integer, 7);
  EXPECT_EQ(old.text(items[3]), "x");
  EXPECT_EQ(old.text(items[4]), "y");
  EXPECT_EQ(items[5].kind, Kind::Bool);
  EXPECT_EQ(old.items(items[6]).size(), 2u);
  // BINFLOAT is big-endian; LONG1 is little-endian, two's complement.
  const Pickle p = parse_pickle(
      bytes({0x80, 2, 'G', 0x3F, 0xF8, 0, 0, 0, 0, 0, 0, 0x8A, 2, 0xFE, 0xFF, 0x88, 0x87, '.'}),
      "p");
  const auto tuple = p.items(p.root);
  ASSERT_EQ(tuple.size(), 3u);
  EXPECT_EQ(tuple[0].real, 1.5);
  EXPECT_EQ(tuple[1].integer, -2);
}

TEST(PickleReader, NeverCarriesAnythingOut) {
  EXPECT_EQ(pickle_refusal("cos\nsystem\n(S'echo'\ntR."),
            "p (byte 0): expected plain data, found the opcode GLOBAL, which is more than data: it "
            "is not carried out");
  EXPECT_NE(pickle_refusal(bytes({0x80, 4, 'N', 'N', 0x93, '.'})).find("(byte 4)"),
            std::string::npos);
  for (const int op :
       std::initializer_list<int>{'R', 'b', 'i', 'o', 0x81, 0x92, 'P', 'Q', 0x82, 0x83, 0x84, 0x97})
    EXPECT_NE(pickle_refusal(bytes({0x80, 4, 'N', 'N', op, '.'})).find("not carried out"),
              std::string::npos)
        << op;
  EXPECT_EQ(pickle_refusal(bytes({0x80, 9})), "p (byte 0): expected protocol 0 to 5, found 9");
}

TEST(PickleReader, RefusesStacksThatDoNotHoldWhatIsTaken) {
  for (const char* text : {"", ".", "a.", "e.", "u.", "]a.", "(e.", "N(e.", "}(Nu.", "s.", "h\x05.",
                           "t.", "\x85.", "1.", "0.", "]N", "(]Ne.", "K"})
    EXPECT_NE(pickle_refusal(text).find("expected"), std::string::npos) << text;
}

// Folding a list consumes it once; a memo reference to it gets the folded value.
TEST(PickleReader, FoldsWhatIsAskedFor) {
  PickleWriter w;
  w.begin_list();
  w.begin_list();
  w.integer(1), w.integer(2);
  w.end_list();
  w.get(1);  // the inner list again
  w.begin_list();
  w.none();
  w.end_list();
  w.end_list();
  PickleOptions options;
  options.fold = [](Pickle&, Kind, std::span<const PickleValue> items, std::uint64_t& folded) {
    if (items[0].kind != Kind::Integer) return false;
    folded = items.size();
    return true;
  };
  const Pickle p = parse_pickle(std::move(w).done(), "p", options);
  const auto items = p.items(p.root);
  ASSERT_EQ(items.size(), 3u);
  EXPECT_EQ(items[0].kind, Kind::Folded);
  EXPECT_EQ(items[0].number, 2u);
  EXPECT_EQ(items[1].kind, Kind::Folded);
  EXPECT_EQ(items[2].kind, Kind::List);
  EXPECT_EQ(p.items(items[2])[0].kind, Kind::None);
}

// Any bytes give data or an error with a sentence.
TEST(PickleReader, AnyBytesAreReadOrRefused) {
  EXPECT_TRUE(rc::check([] {
    const auto text = *rc::gen::container<std::string>(
        rc::gen::oneOf(rc::gen::elementOf(std::string("]}(N.aseu)tlhqjr\x94\x85\x86\x87K\x01\x02"
                                                      "20\x88")),
                       rc::gen::arbitrary<char>()));
    for (const bool folds : {false, true}) {
      PickleOptions options;
      if (folds)
        options.fold = [](Pickle&, Kind, std::span<const PickleValue> items, std::uint64_t& n) {
          n = items.size();
          return items.size() % 2 == 1;
        };
      try {
        const Pickle p = parse_pickle("\x80\x04" + text, "p", options);
        for (const PickleValue& item : p.items(p.root)) p.items(item);
      } catch (const Error& error) {
        RC_ASSERT(error.kind() == Error::Kind::InvalidInput);
      }
    }
  }));
}

// A snapshot of two segments by hand.
TEST(MemorySnapshot, WavesPeakAndOwnersFollowFromTheEvents) {
  SnapshotMaker maker({.noise = 0, .pieces = 1});
  maker.allocate(1, -1, 8 << 20, Category::Weights);
  maker.allocate(2, 0, 16 << 20, Category::Activations);
  maker.allocate(3, 0, 4 << 20, Category::Gradients);
  maker.release(2, 0);
  maker.allocate(4, 0, 2 << 20, Category::OptimizerState);
  const std::string pickle = std::move(maker).done();
  EXPECT_TRUE(is_pickle(pickle));
  const MemorySnapshot s = parse_memory_snapshot(pickle, "s");
  ASSERT_EQ(s.devices.size(), 1u);
  EXPECT_TRUE(s.defects.empty());
  const SnapshotFindings found = snapshot_findings(s, fullest_device(s));
  EXPECT_EQ(total(found.wave.wave.samples[found.wave.wave.peak].bytes), 28_MiB);
  EXPECT_EQ(total(found.wave.wave.samples.back().bytes), 14_MiB);
  ASSERT_EQ(found.peak.size(), 3u);
  EXPECT_EQ(found.peak[0].name, "attention (model.py:120)");
  EXPECT_EQ(found.peak[0].category, Category::Activations);
  EXPECT_EQ(found.peak[0].bytes, 16_MiB);
  EXPECT_EQ(found.peak[1].name, "__init__ (model.py:40)");
  EXPECT_EQ(found.wave.reserved[found.wave.most_reserved], 40_MiB);
  EXPECT_EQ(found.unused, 16_MiB);  // when it was reserved first, 24 MiB were in use
  EXPECT_TRUE(found.wave.timed);
  EXPECT_THROW(snapshot_findings(s, 1), Error);
}

std::string many_events(int buffers) {
  SnapshotMaker maker({});
  for (int i = 0; i < buffers; ++i) {
    maker.allocate(static_cast<std::uint32_t>(i), 0, 64 << 20, Category::Activations);
    if (i >= 5) maker.release(static_cast<std::uint32_t>(i - 5), 0);
  }
  return std::move(maker).done();
}

TEST(MemorySnapshot, ShowsItsBeginningOnce) {
  std::vector<MemorySnapshot> shown;
  SnapshotImportOptions options;
  options.first_look = [&](const MemorySnapshot& first) { shown.push_back(first); };
  options.first_events = 100;
  const std::string pickle = many_events(40);
  const MemorySnapshot s = parse_memory_snapshot(pickle, "s", options);
  ASSERT_EQ(s.devices.size(), 1u);
  ASSERT_GT(s.devices[0].size(), 200u);
  ASSERT_EQ(shown.size(), 1u);
  ASSERT_EQ(shown[0].devices.size(), 1u);
  EXPECT_EQ(shown[0].devices[0],
            std::vector<SnapshotEvent>(s.devices[0].begin(), s.devices[0].begin() + 100));
  EXPECT_EQ(s, parse_memory_snapshot(pickle, "s")) << "the rest is read as ever";
  options.first_events = s.devices[0].size() + 1;
  parse_memory_snapshot(pickle, "s", options);
  EXPECT_EQ(shown.size(), 1u) << "there are fewer";
}

TEST(MemorySnapshot, ShowsNoBeginningOfSeveralDevices) {
  PickleWriter w;
  w.begin_dict();
  w.text("device_traces");
  w.begin_list();
  for (const std::int64_t begun : {2000, 1000}) {
    w.begin_list();
    for (int i = 0; i < 60; ++i) {
      w.begin_dict();
      w.text("action"), w.text("alloc");
      w.text("addr"), w.integer(4096 * (i + 1));
      w.text("size"), w.integer(512);
      w.text("time_us"), w.integer(begun + i);
      w.end_dict();
    }
    w.end_list();
  }
  w.end_list();
  w.end_dict();
  int shown = 0;
  SnapshotImportOptions options;
  options.first_look = [&](const MemorySnapshot&) { ++shown; };
  options.first_events = 100;
  const std::string pickle = std::move(w).done();
  const MemorySnapshot s = parse_memory_snapshot(pickle, "s", options);
  ASSERT_EQ(s.devices.size(), 2u);
  EXPECT_EQ(s.devices[0].size(), 60u);
  EXPECT_EQ(s.devices[1].size(), 60u);
  EXPECT_EQ(shown, 0) << "the hundredth is the second device's";
  options.first_events = 60;
  parse_memory_snapshot(pickle, "s", options);
  EXPECT_EQ(shown, 1);
}

TEST(MemorySnapshot, RefusesOtherPickles) {
  PickleWriter w;
  w.begin_dict();
  w.text("a"), w.integer(1);
  w.end_dict();
  try {
    parse_memory_snapshot(std::move(w).done(), "s");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(describe(error).find("expected a memory snapshot"), std::string::npos);
  }
}

// Everything read from a pickle, or why it was refused. Dictionaries of two entries are folded.
std::string pickle_text(std::string_view text, std::size_t at_once) {
  Trickle source(text, at_once);
  std::uint64_t folds = 0;
  PickleOptions options;
  options.fold = [&](Pickle&, Kind kind, std::span<const PickleValue> items,
                     std::uint64_t& folded) {
    folded = folds;
    return kind == Kind::Dict && items.size() == 4 && ++folds > 0;
  };
  std::string made;
  const auto add = [&](const PickleValue& value) {
    made += fmt::format(" {}:{}", static_cast<int>(value.kind), value.number);
  };
  try {
    const Pickle p = read_pickle(source, "p", options);
    add(p.root);
    for (const auto& items : p.containers) {
      made += " (";
      for (const PickleValue& item : items) add(item);
      made += " )";
    }
    for (const std::string& each : p.texts) made += " " + each;
  } catch (const Error& error) {
    made = describe(error);
  }
  return made;
}

// Says whether opcodes come whole or in parts, also where the bytes are not as a writer has them.
TEST(PickleReader, BlocksLeaveNoTrace) {
  PickleWriter w;
  w.begin_list();
  for (int i = 0; i < 3; ++i) {
    w.begin_dict();
    w.text("a"), w.integer(-3 + i), w.text("b"), w.integer(std::int64_t{0x7f} << 40);
    w.end_dict();
    w.begin_dict();
    w.text("c"), w.integer(300), w.text("d"), w.none(), w.text("a");
    w.begin_list();
    w.integer(7), w.get(1);
    w.end_list();
    w.end_dict();
  }
  w.end_list();
  const std::string whole = std::move(w).done();
  EXPECT_EQ(pickle_text(whole, 1), pickle_text(whole, whole.size()));
  EXPECT_NE(pickle_text(whole, 1).find(" 8:2"), std::string::npos);
  EXPECT_TRUE(rc::check([&] {
    std::string broken = whole;
    const auto changes = *rc::gen::inRange(1, 4);
    for (int i = 0; i < changes; ++i) {
      const auto at = *rc::gen::inRange<std::size_t>(2, broken.size());
      // Mostly draws valid opcodes, because other bytes are soon refused.
      broken[at] = *rc::gen::oneOf(rc::gen::element('h', 'j', 'K', 'M', 'J', '\x8A', '}', ']', 'u',
                                                    'e', '(', '\x94', '0', '2', '.'),
                                   rc::gen::arbitrary<char>());
    }
    const auto at_once = *rc::gen::inRange<std::size_t>(1, 40);
    RC_ASSERT(pickle_text(broken, at_once) == pickle_text(broken, broken.size()));
  }));
}

}  // namespace
}  // namespace trainyard
