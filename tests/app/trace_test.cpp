// `trainyard trace` as a person runs it.
#include <gtest/gtest.h>

#include <fstream>

#include "app/cli/verb.h"
#include "core/io/json_schemas.h"
#include "tests/app/conforms.h"
#include "tests/app/trainyard.h"
#include "tests/support/kineto_trace.h"

namespace trainyard {
namespace {

Ran trace(const std::string& words, const TemporaryFolder& folder) {
  return trainyard("trace " + words, folder);
}

TEST(TraceVerb, ItsOwnFileSaysTheSame) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "t.json") << kineto_trace();
  const Ran first = trace("t.json --json --out t.tybin --png t.png", folder);
  ASSERT_EQ(first.exit, kDone) << first.err;
  const Json json = parse_json(first.out, "trace");
  conforms(json, parse_json(json_schema("trace"), "schema"), "trace");
  EXPECT_GT(std::filesystem::file_size(folder.path() / "t.png"), 1000u);
  const Ran again = trace("t.tybin --json", folder);
  ASSERT_EQ(again.exit, kDone) << again.err;
  std::string expected = first.out;
  expected.replace(expected.find("\"t.json\""), 8, "\"t.tybin\"");
  EXPECT_EQ(again.out, expected);
}

TEST(TraceVerb, RefusesInASentence) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "t.json") << kineto_trace();
  const Ran range = trace("t.json --range 5s..6s", folder);
  EXPECT_EQ(range.exit, kWrongInput);
  EXPECT_NE(range.err.find("--range: expected a range within the recording"), std::string::npos)
      << range.err;
  EXPECT_EQ(trace("none.json", folder).exit, kWrongInput);
  std::ofstream(folder.path() / "bad.json") << "{\"hello\": 1}";
  const Ran bad = trace("bad.json", folder);
  EXPECT_EQ(bad.exit, kWrongInput);
  EXPECT_NE(bad.err.find("expected a list of events"), std::string::npos) << bad.err;
}

}  // namespace
}  // namespace trainyard
