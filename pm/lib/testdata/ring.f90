! Sends numbers around a ring of ranks by both ways to send, and checks them.
program ring
  use, intrinsic :: iso_c_binding
  use score_pm
  implicit none

  integer, parameter :: turns = 200, most = 8000
  real(c_double), target :: numbers(most)
  real(c_double), pointer :: received(:), buffer(:)
  type(score_pm_message) :: message
  type(c_ptr) :: place
  integer(c_int) :: channel, self, ranks, next, before, err
  integer :: turn, n, i

  channel = score_pm_open(2_c_int)
  call check(channel == 2, 'open', channel)
  self = score_pm_rank(channel)
  ranks = score_pm_size(channel)
  next = mod(self + 1, ranks)
  before = mod(self + ranks - 1, ranks)
  call check(score_pm_send(channel, ranks, c_loc(numbers), 8_c_size_t) == -22, 'a rank that there is not', 0_c_int)
  call check(score_strerror(score_again) == 'not now: no space, or no message', 'a sentence', 0_c_int)
  call check(score_pm_room(channel, next) > 8 * most, 'room', 0_c_int)
  call check(score_pm_max_message(channel) >= 8 * most, 'the longest message', 0_c_int)
  do turn = 1, turns
    n = mod(turn * 37, most) + 1
    numbers(:n) = [(value(self, turn, i), i = 1, n)]
    do
      if (mod(turn, 2) == 0) then
        err = score_pm_send(channel, next, c_loc(numbers), int(8 * n, c_size_t))
      else
        place = score_pm_get_send_buffer(channel, next, int(8 * n, c_size_t), err)
        if (c_associated(place)) then
          call c_f_pointer(place, buffer, [n])
          buffer = numbers(:n)
          err = score_pm_commit(channel)
        end if
      end if
      if (err /= score_again) exit
      err = score_pm_wait_space(channel, next, int(8 * n, c_size_t), 20000_c_int)
      call check(err == 0, 'wait for space', err)
    end do
    call check(err == 0, 'send', err)
    do while (score_pm_poll(channel) == 0)
      err = score_pm_wait(channel, 20000_c_int)
      call check(err == 0, 'wait', err)
    end do
    err = score_pm_receive(channel, message)
    call check(err == 0, 'receive', err)
    call c_f_pointer(message%data, received, [n])
    call check(message%source == before .and. message%length == 8 * n, 'source and length', 0_c_int)
    call check(all(received == [(value(before, turn, i), i = 1, n)]), 'numbers', 0_c_int)
    err = score_pm_release(channel, message)
    call check(err == 0, 'release', err)
  end do
  call check(score_pm_close(channel) == 0, 'close', 0_c_int)
  print '(a)', 'well'

contains

  pure real(c_double) function value(rank, turn, i)
    integer(c_int), intent(in) :: rank
    integer, intent(in) :: turn, i
    value = rank * 1d6 + turn * 1d3 + i * 0.25d0
  end function

  subroutine check(right, what, err)
    logical, intent(in) :: right
    character(*), intent(in) :: what
    integer(c_int), intent(in) :: err
    if (right) return
    print '(4a)', 'ring: ', what, ': ', score_strerror(err)
    stop 1
  end subroutine
end program
