// Every *.case here is something wrong that a person could type or hand over: the program must
// answer with exactly this sentence and exit 2. A case is lines of KEY: VALUE (run, error, file,
// folder, deep, large), where "| " lines below a file are its content:
//
//   file: plan.json
//   | {"schema": "trainyard/plan@1", "mesh": {"tpp": 8}}
//   run: simulate --model gpt2 --cluster h100-sxm:8 --plan plan.json
//   error: plan.json#/mesh: no key is called "tpp"; did you mean "tp"?
//
// deep: NAME COUNT writes that many opening brackets; large: NAME BYTES a file of that size,
// sparse.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "tests/app/run_program.h"
#include "tests/support/source_dir.h"

namespace trainyard {
namespace {

namespace fs = std::filesystem;

struct Case {
  std::string run, error;
};

std::string unescape(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && text[i + 1] == 'x') {
      plain += static_cast<char>(std::stoi(text.substr(i + 2, 2), nullptr, 16));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

void append(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::app) << text;
}

// Reads the case and creates its files in the folder.
Case prepare_case(const fs::path& path, const fs::path& folder) {
  Case found;
  fs::path current;
  std::istringstream lines(file_text(path));
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("| ", 0) == 0) {
      append(current, unescape(line.substr(2)) + "\n");
      continue;
    }
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string key = line.substr(0, colon), value = line.substr(colon + 2);
    std::istringstream words(value);
    std::string name;
    std::size_t count = 0;
    if (key == "run") found.run = value;
    if (key == "error") found.error += value + "\n";
    if (key == "file") {
      fs::create_directories((folder / value).parent_path());
      append(current = folder / value, "");
    }
    if (key == "unfinished") append(current = folder / "unfinished.json", unescape(value));
    if (key == "folder") fs::create_directories(folder / value);
    if (key == "deep" && words >> name >> count) append(folder / name, std::string(count, '['));
    if (key == "large" && words >> name >> count) {
      append(folder / name, "");
      fs::resize_file(folder / name, count);
    }
  }
  return found;
}

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(TRAINYARD_SOURCE_DIR "/tests/refused"))
    if (entry.path().extension() == ".case") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

class Refused : public ::testing::TestWithParam<std::string> {};

TEST_P(Refused, SaysWhy) {
  const TemporaryFolder folder;
  const Case wrong = prepare_case(
      fs::path(TRAINYARD_SOURCE_DIR "/tests/refused") / (GetParam() + ".case"), folder.path());
  ASSERT_FALSE(wrong.run.empty());
  ASSERT_FALSE(wrong.error.empty());
  const Ran ran = run_program(TRAINYARD_PROGRAM, split_words(wrong.run), folder.path());
  EXPECT_EQ(ran.exit, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err, wrong.error);
}

INSTANTIATE_TEST_SUITE_P(Cases, Refused, ::testing::ValuesIn(cases()), [](const auto& one) {
  std::string name = one.param;
  std::replace_if(
      name.begin(), name.end(),
      [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
});

TEST(RefusedList, HoldsAtLeastSixtyCases) { EXPECT_GE(cases().size(), 60U); }

}  // namespace
}  // namespace trainyard
