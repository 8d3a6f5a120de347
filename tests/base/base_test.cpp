// Names, nearest, digest, random numbers, errors and the arithmetic of quantities.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/base/clock.h"
#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/names.h"
#include "core/base/nearest.h"
#include "core/base/random.h"
#include "core/base/units.h"

namespace trainyard {
namespace {

TEST(Nearest, FindsTheNameThatWasMeant) {
  const std::vector<std::string> names = {"gpipe", "1f1b", "interleaved", "tick-tock"};
  EXPECT_EQ(nearest("interleved", names), "interleaved");
  EXPECT_EQ(nearest("TICK-TOCK", names), "tick-tock");
  EXPECT_EQ(nearest("gpiep", names), "gpipe");  // a swap of neighbours is one edit
  EXPECT_EQ(nearest("zzzzzzzzzzzz", names), "");
  EXPECT_EQ(nearest(std::string(100'000, 'a'), names), "");
  EXPECT_EQ(did_you_mean("1f1", names), "; did you mean \"1f1b\"?");
  EXPECT_EQ(did_you_mean("something else entirely", names), "");
}

TEST(Digest, IsFnv1aOnEveryMachine) {
  EXPECT_EQ(to_hex(digest("")), "cbf29ce484222325");
  EXPECT_EQ(to_hex(digest("a")), "af63dc4c8601ec8c");
  EXPECT_EQ(to_hex(digest("foobar")), "85944171f73967e8");
  EXPECT_EQ(Digest().add(1).value(), Digest().add(std::int64_t{1}).value());
  EXPECT_NE(Digest().add(1).add(2).value(), Digest().add(2).add(1).value());
}

TEST(Random, IsAFunctionOfSeedStreamAndIndex) {
  EXPECT_EQ(Random(1).bits(7), Random(1, 0).bits(7));
  EXPECT_NE(Random(1).bits(7), Random(2).bits(7));
  EXPECT_NE(Random(1, 0).bits(7), Random(1, 1).bits(7));
  EXPECT_TRUE(rc::check(
      "ranges", [](std::uint64_t seed, std::uint64_t index, std::int32_t low, std::uint16_t width) {
        const Random random(seed);
        const double u = random.uniform(index);
        RC_ASSERT(u >= 0.0);
        RC_ASSERT(u < 1.0);
        const std::int64_t n = random.between(index, low, std::int64_t{low} + width);
        RC_ASSERT(n >= low);
        RC_ASSERT(n <= std::int64_t{low} + width);
      }));
}

TEST(Names, OneIdForOneText) {
  Names names;
  const NameId a = names.intern("forward"), b = names.intern("backward");
  EXPECT_EQ(names.intern("forward"), a);
  EXPECT_NE(a, b);
  EXPECT_EQ(names[b], "backward");
  EXPECT_EQ(names[NameId{}], "");
  EXPECT_EQ(names.size(), 2u);
}

TEST(Error, SaysWhereWhatAndWhileDoingWhat) {
  try {
    with_context("lowering", [] {
      with_context("stage 3", [] {
        throw Error(Error::Kind::InvalidInput, "expected x, found y", Place{"f.json#/a"});
      });
    });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(describe(error), "f.json#/a: expected x, found y (while stage 3, while lowering)");
  }
}

TEST(Diagnostics, AllErrorsAreThrownAtOnceAndWarningsAreNot) {
  using enum Diagnostic::Severity;
  EXPECT_NO_THROW(throw_if_errors({{Warning, "w", {}, ""}, {Note, "n", {}, ""}}));
  try {
    throw_if_errors(
        {{Error, "one", {"a"}, ""}, {Warning, "w", {}, ""}, {Error, "two", {"b"}, "tp=8"}});
    FAIL();
  } catch (const trainyard::Error& error) {
    EXPECT_EQ(describe(error), "a: one\nb: two; try tp=8");
  }
}

TEST(Units, WorkIsNeverFree) {
  EXPECT_EQ(seconds(1e-12), Duration{1});
  EXPECT_EQ(seconds(0.1 * 3), Duration{300'000'000});  // the hair of a product is not work
  EXPECT_EQ(seconds(0), Duration{0});
  EXPECT_EQ(seconds(-1), Duration{0});
  EXPECT_EQ(seconds(1e300), Duration::max());
  EXPECT_EQ(Bytes{1} / BytesPerSecond{0}, Duration::max());
  EXPECT_EQ(Bytes{0} / BytesPerSecond{0}, Duration{0});
  EXPECT_EQ(Flops{2e12} / FlopsPerSecond{1e12}, Duration{2'000'000'000});
  EXPECT_EQ(share(Bytes{10}, 3), Bytes{4});
  EXPECT_EQ(8_GiB / 2_GiB, 4.0);
}

TEST(Clock, AManualClockStandsStill) {
  ManualClock clock;
  EXPECT_EQ(clock.now(), Instant{0});
  clock.advance(Duration{5});
  EXPECT_EQ(clock.now(), Instant{5});
}

}  // namespace
}  // namespace trainyard
