// Lines of words: the first as --why takes it, the others as --bound does. Words that name a plan
// name the same plan when they are written again, and a space is either made or refused with a
// sentence.
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "app/workspace/plans/why_plan.h"
#include "core/base/error.h"

namespace {

using namespace trainyard;

template <class F>
void expect_sentence(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Scenario base = open({"gpt-tiny", "cpu:8", "", {"global-batch=64"}});
  static const PlanSpace usual(base, {}, {});
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto line = [&] {
    const std::string_view first = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), first.size() + 1));
    return first;
  };
  expect_sentence([&] {
    const std::vector<std::string> words = plan_words_of(line());
    if (plan_words_of(fmt::format("{}", fmt::join(words, " "))) != words) std::abort();
    expect_words(usual, words);
  });
  std::vector<Bound> bounds;
  while (!text.empty()) {
    const std::string_view one = line();
    const std::size_t equals = std::min(one.find('='), one.size());
    bounds.push_back({std::string(one.substr(0, equals)),
                      std::string(one.substr(std::min(equals + 1, one.size())))});
  }
  expect_sentence([&] {
    const PlanSpace space(base, {}, bounds);
    const PlanId last = space.combinations() - 1;
    if (space.id(space.digits(last)) != last) std::abort();
    space.plan(last);
  });
  return 0;
}
