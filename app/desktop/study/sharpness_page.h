// A SharpnessPage measures how sharp the loss of the open plan is and says which rates that leaves
// stable: the question at the left, the loss along its sharpest direction or the stable rates as a
// picture over the rates as rows, and what follows in sentences.
#pragma once

#include "app/desktop/study/sharpness_panel.h"
#include "app/desktop/study/study_page.h"
#include "visualizers/chart/curve_view.h"

namespace trainyard {

class Segment;

enum class SharpnessPicture : std::uint8_t { Loss, Rates };

class SharpnessPage : public StudyPage {
  Q_OBJECT

 public:
  explicit SharpnessPage(Document&, QWidget* parent = nullptr);
  /// Lets the commands "calibrate.sharpness*" act on this page.
  void connect_commands(const Actions&);

  const SharpnessMeasurement& measurement() const { return measurement_; }
  SharpnessPanel& panel() const { return *panel_; }
  void start() override;
  void show_picture(SharpnessPicture);

  /// As the command line writes them.
  std::optional<Drawing> picture() const override;
  std::optional<DataTable> table() const override;
  std::optional<std::string> document() const override;

 private:
  void refresh();

  SharpnessMeasurement& measurement_;
  const SharpnessAnswer* shown_ = nullptr;  // of which the table and the picture are
  SharpnessPicture picture_ = SharpnessPicture::Loss;
  std::optional<CurveModel> curve_;
  SharpnessPanel* panel_;
  Segment* which_;
};

}  // namespace trainyard
