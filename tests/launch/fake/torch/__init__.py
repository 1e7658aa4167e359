"""What the launcher asks of torch, on a machine without GPUs."""


class version:
    cuda = None


class cuda:
    @staticmethod
    def device_count():
        return 0
