! score_skifch - SkifCh: three calls for people who build communication libraries: score/skifch.h for Fortran
!
!     gfortran /usr/include/score/score_pm.f90 /usr/include/score/score_skifch.f90 library.f90 $(pkg-config --libs score)
!     scrun --channels 1 -n 4 ./a.out
!
! Functions return 0 or more on success and a negative number on failure, of which score_strerror
! returns a sentence; score_skifch(3) says which. A piece that was received is seen by
! c_f_pointer(message%piece(i)%base, array, [n]) until skifch_recv_comp.
module score_skifch
  use, intrinsic :: iso_c_binding
  use score_pm, only: score_again, score_peer_died, score_peer_closed, score_strerror
  implicit none
  private

  public :: score_again, score_peer_died, score_peer_closed, score_strerror
  public :: skifch_piece, skifch_message
  public :: skifch_open, skifch_close, skifch_rank, skifch_size
  public :: skifch_send, skifch_recv, skifch_wait, skifch_recv_comp

  ! The greatest number of pieces that skifch_recv returns, and that skifch_send takes.
  integer, parameter, public :: skifch_cont_size = 3, skifch_max_pieces = 1024

  ! A piece of a message: struct iovec.
  type, bind(C) :: skifch_piece
    type(c_ptr) :: base
    integer(c_size_t) :: length ! bytes
  end type

  ! A received message, in the library's memory until skifch_recv_comp.
  type, bind(C) :: skifch_message
    integer(c_size_t) :: size  ! of the message, in bytes
    integer(c_size_t) :: there ! bytes that have arrived, in the pieces
    integer(c_int) :: source   ! rank of the sender
    integer(c_int) :: pieces   ! how many of piece are used
    type(skifch_piece) :: piece(skifch_cont_size)
  end type

  interface
    ! Opens a channel, 1 to 15, and returns its handle.
    integer(c_int) function skifch_open(number) bind(C)
      import
      integer(c_int), value :: number
    end function

    integer(c_int) function skifch_close(channel) bind(C)
      import
      integer(c_int), value :: channel
    end function

    ! This rank's number, from 0.
    integer(c_int) function skifch_rank(channel) bind(C)
      import
      integer(c_int), value :: channel
    end function

    ! How many ranks the job has.
    integer(c_int) function skifch_size(channel) bind(C)
      import
      integer(c_int), value :: channel
    end function

    ! Sends the pieces as one message, or a leading part; returns how many bytes went, or score_again.
    ! ssize_t has the size of intptr_t.
    integer(c_intptr_t) function skifch_send(channel, rank, pieces, count) bind(C)
      import
      integer(c_int), value :: channel, rank
      type(skifch_piece), intent(in) :: pieces(*)
      integer(c_int), value :: count
    end function

    ! Receives the next message, in place; score_again: there is none. Pass the same variable to
    ! skifch_wait.
    integer(c_int) function skifch_recv(channel, message) bind(C)
      import
      integer(c_int), value :: channel
      type(skifch_message), intent(inout) :: message
    end function

    ! Waits until so many bytes of the message received last have arrived, and updates its pieces.
    integer(c_int) function skifch_wait(channel, message, bytes) bind(C)
      import
      integer(c_int), value :: channel
      type(skifch_message), intent(inout) :: message
      integer(c_size_t), value :: bytes
    end function

    ! Gives back the memory of the message that was received first and not completed yet.
    integer(c_int) function skifch_recv_comp(channel) bind(C)
      import
      integer(c_int), value :: channel
    end function
  end interface
end module
