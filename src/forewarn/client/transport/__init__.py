"""HTTP/1.1 connections of the client, blocking and asyncio."""
