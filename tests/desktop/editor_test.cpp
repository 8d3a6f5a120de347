#include "tests/desktop/editor.h"

#include <cstdio>

#include "app/desktop/session/journal_keeper.h"

namespace trainyard {

int edit_until_killed(const QString& folder) {
  constexpr int kEnough = 1'000'000;  // whoever started it is gone
  Document document;
  const JournalKeeper keeper(document, folder);
  document.set_model("gpt2");
  for (int i = 1; i < kEnough; ++i) {
    document.set_setting("global-batch", QString::number(i));
    if (std::printf("%d\n", i) < 0 || std::fflush(stdout) != 0) return 1;
  }
  return 0;
}

}  // namespace trainyard
