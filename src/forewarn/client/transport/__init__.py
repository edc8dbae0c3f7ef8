"""The client's HTTP/1.1 connections, blocking and asyncio."""
