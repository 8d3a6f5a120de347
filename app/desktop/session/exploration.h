// An Exploration is how the user navigates a run: search, history, marks, keyboard walks on the
// timeline, and the inspection of memory. It changes the Session (and marks through the Document);
// views and bars query it and listen to it.
#pragma once

#include <QObject>

#include "app/desktop/session/document.h"
#include "app/desktop/session/session.h"
#include "app/desktop/session/view_history.h"
#include "visualizers/time/span_search.h"

namespace trainyard {

class Exploration : public QObject {
  Q_OBJECT

 public:
  Exploration(Document&, Session&, QObject* parent = nullptr);

  // Search.
  /// Searches for words; an empty text ends the search. A text that cannot be parsed finds nothing,
  /// and problem() says why.
  void search(const QString& words);
  const QString& words() const { return words_; }
  const QString& problem() const { return problem_; }
  std::size_t hits() const;
  /// The index of the selected span among the hits, from 1; 0: it is not a hit.
  std::size_t hit() const;
  void step_hit(int by);

  // Navigation.
  /// Moves the cursor to "1.25 s" or "30 %" of the run and centres it. Returns a sentence that says
  /// what was expected if the text is invalid.
  QString go_to(const QString& instant);
  /// Tells the history that the shown part has changed; see ViewHistory::visit().
  void record(bool continues);
  void rest() { history_.rest(); }
  void back();
  void forward();

  // Marks are set on the range, else the cursor, else the start of the selected span.
  /// Sets a mark, or removes it if the same place already has one.
  void toggle_mark(const QString& name = {});
  bool can_mark() const { return place_to_mark().has_value(); }
  /// Makes the mark's place the range or the cursor.
  void go_to_mark(std::size_t mark);
  /// Scrolls to a range if to > from, else moves the cursor to an instant.
  void go_to_place(Instant from, Instant to);

  // Walks. Each selects its target and scrolls to it.
  void walk_name(int by);
  void walk_device(int by);
  void walk_path(int by);
  void next_peak();
  void next_bubble();
  void select_span(InstructionId);

  // Memory.
  void stack_by(StackBy);
  void set_by_phase(bool);
  void set_every_rank(bool);
  void set_critical_path(bool);
  /// Keeps what is alive on a device at an instant in the table until something else is pinned.
  void pin(DeviceId, Instant);
  /// Removes the pin and the drawn tensor lifetimes.
  void unpin();
  struct Pinned {
    DeviceId device;
    Instant at{};
  };
  const std::optional<Pinned>& pinned() const { return pinned_; }
  /// Draws the lifetimes of a buffer under its device's lane and scrolls to the one at the pinned
  /// instant, or to the first.
  void show_lives(BufferId);

 Q_SIGNALS:
  void search_changed();
  void search_wanted();  // the user pressed "/"
  void note_wanted();    // the user wants to name a mark
  void pin_changed();
  void switches_changed();  // of stack, phase or critical path

 private:
  void start_over();
  void refresh_marks();
  void refresh_stack();
  void bring_into_sight(Instant from, Instant to);
  void go(const ViewPlace&);
  ViewPlace here() const;
  InstructionId selected() const;
  std::optional<ProjectMark> place_to_mark() const;

  Document& document_;
  Session& session_;
  ViewHistory history_;
  ExperimentPtr of_;  // the experiment of hits and history
  QString words_, problem_;
  std::optional<Pinned> pinned_;
};

}  // namespace trainyard
