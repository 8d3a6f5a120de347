// A DescentPage shows what few bits do to a descent: the question at the left, errors by bits or
// the grid by round as a picture over the rounds as rows, and what follows in sentences.
#pragma once

#include <memory>
#include <optional>

#include "app/desktop/study/descent_panel.h"
#include "app/desktop/study/study_page.h"
#include "visualizers/descent/halp_view.h"

namespace trainyard {

class Segment;

class DescentPage : public StudyPage {
  Q_OBJECT

 public:
  explicit DescentPage(Document&, QWidget* parent = nullptr);
  /// Lets the commands "calibrate.descent*" act on this page.
  void connect_commands(const Actions&);

  const DescentMeasurement& measurement() const { return measurement_; }
  DescentPanel& panel() const { return *panel_; }
  void start() override;
  void show_picture(HalpPicture);

  /// These return what the command line writes.
  std::optional<Drawing> picture() const override;
  std::optional<DataTable> table() const override;
  std::optional<std::string> document() const override;

 private:
  void refresh();

  DescentMeasurement& measurement_;
  std::shared_ptr<const HalpStudy> shown_;  // of which the table and the picture are
  std::optional<CurveModel> curve_;
  DescentPanel* panel_;
  Segment* which_;
};

}  // namespace trainyard
