// A Background runs work on a thread of its own and delivers the result by value on the window's
// thread. A newer request stops the older one, whose result is then dropped.
#pragma once

#include <QMetaObject>
#include <QObject>

#include <stop_token>
#include <thread>
#include <utility>

namespace trainyard {

class Background {
 public:
  /// Results are delivered on the window's thread, and never after the window is destroyed.
  explicit Background(QObject* window) : window_(window) {}
  ~Background() { stop(); }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// Runs work(std::stop_token, tell) on the other thread, where tell(message) sends a callable to
  /// be called on this one; then calls heard(result) here. The work must not throw.
  template <class Work, class Heard>
  void ask(Work work, Heard heard) {
    stop();
    running_ = true;
    thread_ = std::jthread([this, ticket = ticket_, work = std::move(work),
                            heard = std::move(heard)](std::stop_token token) mutable {
      const auto tell = [&](auto message) { post(ticket, std::move(message)); };
      auto answer = work(token, tell);
      if (token.stop_requested()) return;
      post(ticket, [this, heard = std::move(heard), answer = std::move(answer)]() mutable {
        running_ = false;
        heard(std::move(answer));
      });
    });
  }

  /// Waits until the running work has stopped.
  void stop() {
    ++ticket_;
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
    running_ = false;
  }

  bool running() const { return running_; }

 private:
  template <class Message>
  void post(quint64 ticket, Message message) {
    QMetaObject::invokeMethod(
        window_,
        [this, ticket, message = std::move(message)]() mutable {
          if (ticket == ticket_) message();
        },
        Qt::QueuedConnection);
  }

  QObject* window_;
  bool running_ = false;
  quint64 ticket_ = 0;
  std::jthread thread_;
};

}  // namespace trainyard
