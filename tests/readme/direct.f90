! SPDX-License-Identifier: MIT
! Writes three records of a 6 x 4 array of doubles to steps.dat, by direct access. The value at
! (i, j) of a record is 100 * record + 10 * i + j, from 1.
program direct
    implicit none
    real(8) :: a(6, 4)
    integer :: i, j, record, length

    inquire (iolength=length) a
    open (10, file='steps.dat', form='unformatted', access='direct', recl=length, status='replace')
    do record = 1, 3
        do j = 1, 4
            do i = 1, 6
                a(i, j) = 100 * record + 10 * i + j
            end do
        end do
        write (10, rec=record) a
    end do
    close (10)
end program direct
