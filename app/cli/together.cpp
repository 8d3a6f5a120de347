#include "app/cli/together.h"

#include <fmt/format.h>

#include <exception>
#include <ostream>
#include <vector>

#include "core/base/error.h"

namespace trainyard {

void begin_together(Ranks& ranks, const std::function<void()>& begin) {
  std::exception_ptr failed;
  std::string why;
  try {
    begin();
  } catch (const Error& error) {
    failed = std::current_exception(), why = describe(error);
  } catch (const std::exception& error) {
    failed = std::current_exception(), why = error.what();
  }
  const std::vector<std::string> all = ranks.all_gather(why);
  if (failed != nullptr) std::rethrow_exception(failed);
  for (std::size_t r = 0; r < all.size(); ++r)
    if (!all[r].empty())
      throw Error(Error::Kind::InvalidInput, all[r], {fmt::format("rank {}", r)});
}

void expect_one_question(Ranks& ranks, const std::string& question, std::string_view verb,
                         std::string_view what) {
  const std::vector<std::string> asked = ranks.all_gather(question);
  for (std::size_t r = 1; r < asked.size(); ++r)
    if (asked[r] != asked.front())
      throw Error(Error::Kind::InvalidInput,
                  fmt::format("rank {} was asked for another {} than rank 0", r, what),
                  {std::string(verb)});
}

void work_together(Processes& processes, Streams& streams, const std::function<void()>& work) {
  int exit = kFailed;
  try {
    return work();
  } catch (const Error& error) {
    if (error.kind() == Error::Kind::OutOfMemory) exit = kNotMet;
    streams.err << "rank " << processes.rank() << ": " << describe(error) << "\n";
  } catch (const std::exception& error) {
    streams.err << "rank " << processes.rank() << ": " << error.what() << "\n";
  }
  streams.err.flush();
  processes.abandon(exit);
}

}  // namespace trainyard
