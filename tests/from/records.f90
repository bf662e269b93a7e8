! SPDX-License-Identifier: MIT
! Writes sequential unformatted records of several kinds to the file given as the argument.
program records
    implicit none
    character(len=256) :: name
    integer :: i, j
    real(8) :: x(1000)
    real(4) :: position(3, 250)

    call get_command_argument(1, name)
    open(10, file=trim(name), form='unformatted', access='sequential', status='replace')
    write(10) (100 + i, i = 1, 64)
    x = [(i * 0.5d0, i = 1, 1000)]
    write(10) x
    position = reshape([(real(i), i = 1, 750)], [3, 250])
    write(10) position
    do j = 1, 6
        write(10) (1000d0 * j + i, i = 1, 40)
    end do
    write(10)
    write(10) 'the end'
    close(10)
end program
