// Tests the page of a plan: it says what other verbs say, and needs nothing beside itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>

#include "app/cli/verb.h"
#include "tests/app/trainyard.h"
#include "visualizers/drawing/svg.h"

namespace trainyard {
namespace {

constexpr const char* kScenario =
    " --model gpt-tiny --cluster cpu:2 --set pp=2 --set global-batch=8 --set schedule=1f1b";

std::string page_of(const std::string& line, int exit = kDone) {
  const TemporaryFolder folder;
  const Ran ran = trainyard("report" + line + " --out page.html", folder);
  EXPECT_EQ(ran.exit, exit) << ran.err;
  EXPECT_EQ(ran.out, "");
  return file_text(folder.path() / "page.html");
}

std::multiset<std::string> matches(const std::string& text, const char* pattern) {
  const std::regex expression(pattern);
  std::multiset<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), expression), end; it != end; ++it)
    found.insert((*it)[1].str());
  return found;
}

TEST(ReportVerb, HasTheVerdictAndTheWholeResultThatSimulatePrints) {
  const TemporaryFolder folder;
  const std::string page = page_of(kScenario);
  const Ran text = trainyard("simulate" + std::string(kScenario), folder);
  const std::string verdict = text.out.substr(0, text.out.find('\n'));
  EXPECT_NE(page.find("<p class=\"lead\">" + markup_text(verdict) + "</p>"), std::string::npos);
  const Ran json = trainyard("simulate --json" + std::string(kScenario), folder);
  const std::string document = json.out.substr(0, json.out.find_last_not_of('\n') + 1);
  ASSERT_GT(document.size(), 1000u);
  // Line by line, as markup leaves control characters out.
  for (std::size_t at = 0; at < document.size();) {
    const std::size_t end = std::min(document.find('\n', at), document.size());
    const std::string line = markup_text(document.substr(at, end - at));
    ASSERT_NE(page.find(line), std::string::npos) << line;
    at = end + 1;
  }
}

TEST(ReportVerb, LoadsNothingAndRunsNothing) {
  const std::string page = page_of(kScenario);
  for (const char* word : {"<script", "<link", "<img", "@import", "src=", "href="})
    EXPECT_EQ(page.find(word), std::string::npos) << word;
}

TEST(ReportVerb, EveryReferenceOfItsPicturesMeetsOneDefinition) {
  const std::string page = page_of(std::string(kScenario) + " --views timeline,memory,lanes,mesh");
  const std::multiset<std::string> ids = matches(page, " id=\"([^\"]*)\"");
  const std::multiset<std::string> references = matches(page, "url\\(#([^)]*)\\)");
  EXPECT_EQ(ids.size(), std::set<std::string>(ids.begin(), ids.end()).size());
  EXPECT_FALSE(references.empty());
  for (const std::string& one : references) EXPECT_EQ(ids.count(one), 1u) << one;
}

TEST(ReportVerb, ClosesWhatItOpensAndIsTheSameEachTime) {
  const std::string page = page_of(kScenario);
  for (const char* tag : {"section", "details", "table", "svg", "pre", "html", "body", "tr", "p"}) {
    const auto opened = matches(page, ("<(" + std::string(tag) + ")[ >]").c_str()).size();
    EXPECT_EQ(opened, matches(page, ("</(" + std::string(tag) + ")>").c_str()).size()) << tag;
    EXPECT_GT(opened, 0u) << tag;
  }
  EXPECT_EQ(page, page_of(kScenario));
}

TEST(ReportVerb, APlanThatDoesNotFitHasThePageWithWhatWouldHelp) {
  const std::string page =
      page_of(" --model llama-3-70b --cluster h100-sxm:8 --set tp=8 --set global-batch=8", kNotMet);
  EXPECT_NE(page.find("<h2>What would make it fit</h2>"), std::string::npos);
}

}  // namespace
}  // namespace trainyard
