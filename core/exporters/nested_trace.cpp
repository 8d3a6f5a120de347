#include "core/exporters/nested_trace.h"

#include <fmt/format.h>

#include <iterator>
#include <vector>

#include "core/exporters/trace_text.h"

namespace trainyard {

std::string nested_trace(const NestedSpans& spans, const std::string& process) {
  std::string text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  const auto put = [&]<class... Args>(fmt::format_string<Args...> form, Args&&... args) {
    fmt::format_to(std::back_inserter(text), form, std::forward<Args>(args)...);
  };
  put("{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0,\"tid\":0,\"args\":{{\"name\":{}}}}}",
      trace_string(process));
  for (std::size_t thread = 0; thread < spans.threads.size(); ++thread) {
    put(",\n{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":0,\"tid\":{},\"args\":{{\"name\":"
        "\"thread "
        "{}\"}}}}",
        thread + 1, thread + 1);
    std::vector<Instant> open;
    for (const SpanEvent& event : spans.threads[thread]) {
      if (event.begins) {
        open.push_back(event.at);
        continue;
      }
      put(",\n{{\"ph\":\"X\",\"name\":{},\"cat\":\"{}\",\"pid\":0,\"tid\":{},\"ts\":{},\"dur\":{}}"
          "}",
          trace_string(spans.names[event.name]), to_string(event.level), thread + 1,
          trace_microseconds(open.back()), trace_microseconds(event.at - open.back()));
      open.pop_back();
    }
  }
  return text + "\n]}\n";
}

}  // namespace trainyard
