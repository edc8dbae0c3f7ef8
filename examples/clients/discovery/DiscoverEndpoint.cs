// Prints the address of the metadata service that DHCP announces (option 245).
// Usage: discover-endpoint.exe [INTERFACE]. Run it as root on Linux. It takes no lease.
//
// Mono cannot bind a socket to an interface. A socket that is bound to the interface's
// address sends through it, so the interface needs an IPv4 address. Such a socket
// receives no broadcasts, so a second one, bound to all addresses, reads the reply.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Net;
using System.Net.NetworkInformation;
using System.Net.Sockets;
using System.Security.Cryptography;
using System.Text.RegularExpressions;

static class DiscoverEndpoint
{
    const int OptionsAt = 240; // bytes before the options
    static readonly byte[] Cookie = { 0x63, 0x82, 0x53, 0x63 };
    static readonly IPEndPoint Servers = new IPEndPoint(IPAddress.Broadcast, 67);

    static int Fail(string sentence)
    {
        Console.Error.WriteLine("discover: " + sentence);
        return 1;
    }

    static IPAddress AddressOf(NetworkInterface card)
    {
        return card.GetIPProperties().UnicastAddresses.Select(each => each.Address)
            .FirstOrDefault(address => address.AddressFamily == AddressFamily.InterNetwork);
    }

    static Socket Open(IPAddress address)
    {
        var udp = new Socket(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp);
        udp.SetSocketOption(SocketOptionLevel.Socket, SocketOptionName.ReuseAddress, true);
        udp.EnableBroadcast = true;
        udp.Bind(new IPEndPoint(address, 68));
        return udp;
    }

    // Builds a DISCOVER that requests option 245, as described in RFC 2131.
    static byte[] DiscoverMessage(byte[] transaction, byte[] mac)
    {
        var message = new byte[300]; // relays may drop shorter ones
        new byte[] { 1, 1, 6, 0 }.CopyTo(message, 0);
        transaction.CopyTo(message, 4);
        message[10] = 0x80; // requests a broadcast reply
        mac.CopyTo(message, 28);
        Cookie.CopyTo(message, 236);
        new byte[] { 53, 1, 1, 55, 2, 1, 245, 255 }.CopyTo(message, OptionsAt);
        return message;
    }

    static bool Has(byte[] reply, int at, byte[] part)
    {
        return reply.Skip(at).Take(part.Length).SequenceEqual(part);
    }

    // Returns option 245 in an offer; null if it is no offer or lacks the option.
    static IPAddress AddressIn(byte[] reply, byte[] transaction, byte[] mac)
    {
        if (reply.Length < OptionsAt || reply[0] != 2 || !Has(reply, 4, transaction)
            || !Has(reply, 28, mac) || !Has(reply, 236, Cookie)) return null;
        var options = new Dictionary<byte, byte[]>();
        for (var at = OptionsAt; at + 1 < reply.Length && reply[at] != 255;)
        {
            if (reply[at] == 0) { at += 1; continue; } // padding
            options[reply[at]] = reply.Skip(at + 2).Take(reply[at + 1]).ToArray();
            at += 2 + reply[at + 1];
        }
        byte[] kind, address;
        var isOffer = options.TryGetValue(53, out kind) && kind.Length == 1 && kind[0] == 2;
        var hasAddress = options.TryGetValue(245, out address) && address.Length == 4;
        return isOffer && hasAddress ? new IPAddress(address) : null;
    }

    // Returns the announced address; null if there is none.
    static IPAddress Discover(IPAddress own, byte[] mac, int seconds)
    {
        var transaction = new byte[4];
        using (var random = RandomNumberGenerator.Create()) random.GetBytes(transaction);
        var buffer = new byte[65536];
        using (var receiver = Open(IPAddress.Any))
        using (var sender = Open(own))
        {
            for (var attempt = 0; attempt < seconds; attempt++) // one DISCOVER per second
            {
                sender.SendTo(DiscoverMessage(transaction, mac), Servers);
                var elapsed = Stopwatch.StartNew();
                while (elapsed.ElapsedMilliseconds < 1000)
                {
                    var left = 1000 - (int)elapsed.ElapsedMilliseconds;
                    if (!receiver.Poll(1000 * Math.Max(left, 0), SelectMode.SelectRead)) break;
                    var size = receiver.Receive(buffer);
                    var address = AddressIn(buffer.Take(size).ToArray(), transaction, mac);
                    if (address != null) return address;
                }
            }
        }
        return null;
    }

    static int Main(string[] words)
    {
        if (words.Length > 1)
        {
            Console.Error.WriteLine("usage: discover-endpoint.exe [INTERFACE]");
            return 2;
        }
        var seconds = Environment.GetEnvironmentVariable("DISCOVER_SECONDS");
        if (string.IsNullOrEmpty(seconds)) seconds = "15";
        if (!Regex.IsMatch(seconds, @"\A[1-9][0-9]{0,3}\z"))
            return Fail("DISCOVER_SECONDS must be from 1 to 9999, not '" + seconds + "'");
        var card = NetworkInterface.GetAllNetworkInterfaces().FirstOrDefault(each =>
            each.NetworkInterfaceType == NetworkInterfaceType.Ethernet
            && AddressOf(each) != null && (words.Length == 0 || each.Name == words[0]));
        if (card == null)
            return Fail(words.Length == 0 ? "no Ethernet interface has an IPv4 address"
                : "no Ethernet interface '" + words[0] + "' with an IPv4 address");
        try
        {
            var mac = card.GetPhysicalAddress().GetAddressBytes();
            var address = Discover(AddressOf(card), mac, int.Parse(seconds));
            if (address == null)
                return Fail("no DHCP server on " + card.Name + " announced option 245");
            Console.WriteLine(address);
            return 0;
        }
        catch (SocketException error)
        {
            return Fail(error.SocketErrorCode == SocketError.AccessDenied
                ? "DHCP needs root; run this program as root"
                : "cannot use DHCP on " + card.Name + ": " + error.Message);
        }
    }
}
