! Sends messages of three pieces around a ring of ranks by SkifCh, and checks them.
program pieces
  use, intrinsic :: iso_c_binding
  use score_skifch
  implicit none

  integer, parameter :: turns = 200, most = 8000
  real(c_double), target :: numbers(most)
  real(c_double), pointer :: received(:)
  type(skifch_piece) :: piece(3)
  type(skifch_message) :: message
  integer(c_int) :: channel, ranks, next, before, err
  integer(c_intptr_t) :: sent
  integer :: turn, i, at, n

  channel = skifch_open(1_c_int)
  call check(channel == 1, 'open', channel)
  ranks = skifch_size(channel)
  next = mod(skifch_rank(channel) + 1, ranks)
  before = mod(skifch_rank(channel) + ranks - 1, ranks)
  call check(skifch_send(channel, ranks, piece, 0_c_int) == -22, 'a rank that there is not', 0_c_int)
  call check(skifch_recv_comp(channel) == -22, 'nothing to complete', 0_c_int)
  numbers = [(i * 0.25d0, i = 1, most)]
  piece = [part(1, 10), part(11, 5000), part(5001, most)]
  do turn = 1, turns
    do
      sent = skifch_send(channel, next, piece, 3_c_int)
      if (sent /= score_again) exit
    end do
    call check(sent > 0, 'send', int(sent, c_int))
    do
      err = skifch_recv(channel, message)
      if (err /= score_again) exit
    end do
    call check(err == 0 .and. message%source == before, 'receive', err)
    err = skifch_wait(channel, message, message%size)
    call check(err == 0 .and. message%there == message%size, 'wait', err)
    at = 0
    do i = 1, message%pieces
      n = int(message%piece(i)%length) / 8
      call c_f_pointer(message%piece(i)%base, received, [n])
      call check(all(received == numbers(at + 1:at + n)), 'numbers', 0_c_int)
      at = at + n
    end do
    err = skifch_recv_comp(channel)
    call check(err == 0, 'complete', err)
  end do
  call check(skifch_close(channel) == 0, 'close', 0_c_int)
  print '(a)', 'well'

contains

  type(skifch_piece) function part(first, last)
    integer, intent(in) :: first, last
    part = skifch_piece(c_loc(numbers(first)), int(8 * (last - first + 1), c_size_t))
  end function

  subroutine check(right, what, err)
    logical, intent(in) :: right
    character(*), intent(in) :: what
    integer(c_int), intent(in) :: err
    if (right) return
    print '(4a)', 'pieces: ', what, ': ', score_strerror(err)
    stop 1
  end subroutine
end program
