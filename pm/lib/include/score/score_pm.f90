! score_pm - messages between the ranks of a job, at user level: score/pm.h for Fortran
!
!     gfortran /usr/include/score/score_pm.f90 program.f90 $(pkg-config --libs score)
!     scrun --channels 1 -n 4 ./a.out
!
! Functions return 0 or more on success and a negative number on failure, of which score_strerror
! returns a sentence; score_pm(3) says which. Data is given by c_loc, and a received message is seen by
! c_f_pointer(message%data, array, [n]) until score_pm_release.
module score_pm
  use, intrinsic :: iso_c_binding
  implicit none
  private

  public :: score_pm_message
  public :: score_pm_open, score_pm_close, score_pm_rank, score_pm_size, score_pm_max_message, score_pm_same_node
  public :: score_pm_send, score_pm_get_send_buffer, score_pm_commit, score_pm_room
  public :: score_pm_receive, score_pm_release, score_pm_poll, score_pm_wait, score_pm_wait_space, score_strerror

  ! Numbers of errors that programs handle: not now; the peer died; the peer closed its channel.
  integer(c_int), parameter, public :: score_again = -11, score_peer_died = -104, score_peer_closed = -107

  ! A received message, in the library's memory until score_pm_release.
  type, bind(C) :: score_pm_message
    type(c_ptr) :: data
    integer(c_size_t) :: length ! bytes
    integer(c_int) :: source    ! rank of the sender
    integer(c_int) :: id        ! the library's
  end type

  interface
    ! Opens a channel, 1 to 15, and returns its handle.
    integer(c_int) function score_pm_open(number) bind(C)
      import
      integer(c_int), value :: number
    end function

    integer(c_int) function score_pm_close(channel) bind(C)
      import
      integer(c_int), value :: channel
    end function

    ! This rank's number, from 0.
    integer(c_int) function score_pm_rank(channel) bind(C)
      import
      integer(c_int), value :: channel
    end function

    ! How many ranks the job has.
    integer(c_int) function score_pm_size(channel) bind(C)
      import
      integer(c_int), value :: channel
    end function

    ! The length of the longest message, in bytes.
    integer(c_size_t) function score_pm_max_message(channel) bind(C)
      import
      integer(c_int), value :: channel
    end function

    ! Whether messages to the rank go through memory: 1 or 0.
    integer(c_int) function score_pm_same_node(channel, rank) bind(C)
      import
      integer(c_int), value :: channel, rank
    end function

    ! Sends a copy of a message of so many bytes.
    integer(c_int) function score_pm_send(channel, rank, data, length) bind(C)
      import
      integer(c_int), value :: channel, rank
      type(c_ptr), value :: data
      integer(c_size_t), value :: length
    end function

    ! A buffer for a message, to be filled and sent by score_pm_commit; c_null_ptr with error set on failure.
    type(c_ptr) function score_pm_get_send_buffer(channel, rank, length, error) bind(C)
      import
      integer(c_int), value :: channel, rank
      integer(c_size_t), value :: length
      integer(c_int), intent(out) :: error
    end function

    integer(c_int) function score_pm_commit(channel) bind(C)
      import
      integer(c_int), value :: channel
    end function

    ! The length of the longest message to the rank that would be taken now. ssize_t has the size of intptr_t.
    integer(c_intptr_t) function score_pm_room(channel, rank) bind(C)
      import
      integer(c_int), value :: channel, rank
    end function

    ! Takes the next message, in place.
    integer(c_int) function score_pm_receive(channel, message) bind(C)
      import
      integer(c_int), value :: channel
      type(score_pm_message), intent(out) :: message
    end function

    ! Gives its memory back, in any order.
    integer(c_int) function score_pm_release(channel, message) bind(C)
      import
      integer(c_int), value :: channel
      type(score_pm_message), intent(in) :: message
    end function

    ! Whether there is something to receive: 1 or 0.
    integer(c_int) function score_pm_poll(channel) bind(C)
      import
      integer(c_int), value :: channel
    end function

    ! Waits until there is something to receive, at most so many milliseconds; negative: without end.
    integer(c_int) function score_pm_wait(channel, milliseconds) bind(C)
      import
      integer(c_int), value :: channel, milliseconds
    end function

    ! Waits until a message of the length to the rank would be taken, or there is something to receive.
    integer(c_int) function score_pm_wait_space(channel, rank, length, milliseconds) bind(C)
      import
      integer(c_int), value :: channel, rank
      integer(c_size_t), value :: length
      integer(c_int), value :: milliseconds
    end function

    type(c_ptr) function c_strerror(error) bind(C, name='score_strerror')
      import
      integer(c_int), value :: error
    end function

    integer(c_size_t) function c_strlen(text) bind(C, name='strlen')
      import
      type(c_ptr), value :: text
    end function
  end interface

contains

  ! The sentence of an error.
  function score_strerror(error) result(text)
    integer(c_int), intent(in) :: error
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: bytes(:)
    type(c_ptr) :: sentence
    integer :: i

    sentence = c_strerror(error)
    call c_f_pointer(sentence, bytes, [c_strlen(sentence)])
    allocate(character(len=size(bytes)) :: text)
    do i = 1, size(bytes)
      text(i:i) = bytes(i)
    end do
  end function
end module
