// The Calibrate perspective compares measurements with predictions, in several tabs.
#pragma once

#include <array>

#include "app/desktop/controls/tab_page.h"

namespace trainyard {

class Document;
class Published;
class Session;

/// The tabs by their names in lower case, as --tab takes them.
inline constexpr std::array<const char*, 12> kCalibrateTabs = {
    "published", "machine",   "recorded",  "kernels", "snapshot", "links",
    "branches",  "synchrony", "sharpness", "descent", "gate",     "profile"};

class CalibratePage : public TabPage {
  Q_OBJECT

 public:
  CalibratePage(Document&, Published&, Session&, QWidget* parent = nullptr);
};

}  // namespace trainyard
